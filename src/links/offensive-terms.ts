/**
 * Words that neither an alias nor a generated code should show. Short on purpose: it holds what nearly every
 * operator would refuse on sight, not what somebody somewhere may mind. Operators change it with a word file.
 *
 * Three kinds, told apart by their first character, because a plain list of substrings refuses half of a
 * dictionary (`Scunthorpe`, `therapist`, `openissues`):
 * - `word` is refused anywhere in an alias, also in common digit-for-letter spelling;
 * - `=word` is part of too many innocent words, so it is refused only where it stands as a word of its own;
 * - `~word` is innocent although it contains one of the others.
 */
export const offensiveTerms: readonly string[] = [
  // Vulgar.
  'fuck, shit, cunt, bitch, asshole, arsehole, wanker, whore, pussy, porn, jizz, blowjob, cumshot',
  '=ass, =arse, =cock, =cum, =penis, =slut, =sluts, =tits, =twat, =wank',
  // Slurs. Names of subjects that are taught and of help that is offered (history, crime) are not among them.
  'nigger, nigga, faggot',
  '=fag, =fags, =kike, =chink, =gook, =spic, =coon, =paki, =tranny, =retard',
  // Slogans of hate.
  'siegheil, heilhitler, whitepower, =kkk',
  // Innocent.
  '~scunthorpe, ~shitake, ~mishit, ~shitzu, ~ashita, ~pussycat, ~pussywillow, ~bitchute, ~snigger, ~pornic',
  '~cum-laude, ~maine-coon',
].flatMap(line => line.split(', '));
