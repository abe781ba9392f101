import { expect, test } from 'vitest';
import { createNarrator } from '../../../../sandbox/start/narrate.ts';

test('a node that opens is no news, as it has joined in the same moment; an event that nobody knows is told as it is', () => {
  const said: Array<string> = [];
  const narrator = createNarrator({ claims: () => new Map(), say: (_, text) => void said.push(text) });
  narrator.tellApp({ event: 'node-opened', facts: { claim: 'a', planned: 3, stillWaiting: 0 } });
  narrator.tellApp({ event: 'never-seen', facts: { claim: 'a' } });
  expect(said).toEqual(['never-seen, claim a']);
});
