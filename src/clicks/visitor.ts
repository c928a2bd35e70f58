/**
 * Tells people from machines while the answer is being made, which only links with a limited number of clicks
 * need: a one-time link must not be used up by the chat program that draws its preview. All other clicks are
 * judged later and elsewhere, by the same two functions.
 */
import { agentKindOf, agentLengthMax } from './steps/agent-kind.ts';
import { boundedText } from './steps/bounded-text.ts';
import { type VisitRequest, visitFlags } from './steps/visit-kind.ts';

export function isHuman(request: VisitRequest): boolean {
  if (visitFlags(request) !== 0) return false;
  return agentKindOf(boundedText(request.headers.get('user-agent') ?? '', agentLengthMax)) === 'human';
}
