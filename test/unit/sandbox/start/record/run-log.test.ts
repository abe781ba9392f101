import { expect, test } from 'vitest';
import { createRunLog } from '../../../../../sandbox/start/record/run-log.ts';
import type { Display } from '../../../../../sandbox/start/screen/display.ts';

const nothing = (): void => undefined;
const mute: Display = {
  started: nothing,
  ready: nothing,
  said: nothing,
  event: nothing,
  show: nothing,
  scroll: nothing,
  last: nothing,
  close: nothing,
};

test('counts a node as removed only once it had joined: a VM that Azure could not create was none', () => {
  const log = createRunLog(
    mute,
    () => 0,
    () => new Map(),
    nothing,
  );
  log.tellApp({ event: 'nodeclaim-registered', facts: { claim: 'a', node: 'aks-a' } });
  for (const claim of ['a', 'never-joined', 'a']) log.tellApp({ event: 'nodeclaim-terminated', facts: { claim } });
  expect(log.nodes()).toEqual({ joined: 1, gone: 1 });
});
