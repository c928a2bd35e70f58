/** The languages of the dashboard, each in its own words. */
import { texts } from '../../texts.ts';
import { chooseLanguage, language, languageNames, languages } from '../language.ts';
import { useStore } from '../state/store.ts';
import { Segments } from './field.tsx';
import { showProblem } from './toast.tsx';

export function LanguageSegments() {
  return (
    <Segments
      label={texts.nav.language}
      value={useStore(language)}
      choices={languageNames.map(value => ({ value, label: languages[value], lang: value }))}
      onValue={choice => void chooseLanguage(choice).catch(showProblem)}
    />
  );
}
