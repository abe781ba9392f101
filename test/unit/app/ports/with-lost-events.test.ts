import { expect, test } from 'vitest';
import { publish } from '../../../../shared/app/tell/events.ts';
import { withLostEvents } from '../../../../shared/app/ports/with-lost-events.ts';
import { RetryableError } from '../../../../shared/ports/errors.ts';
import { POLICY, denying, smallCluster, START } from '../../../kit/app/small-cluster.ts';

const note = {
  regarding: { apiVersion: 'v1', kind: 'Node', name: 'n', namespace: null, uid: 'u' },
  type: 'Normal',
  reason: 'Tested',
  message: 'something has happened',
} as const;

/** A cluster whose lost events are told, and the lines. */
function telling() {
  const cluster = smallCluster();
  const lines: Array<unknown> = [];
  const log = (event: string, facts: object): void => void lines.push({ event, ...facts });
  return { ...cluster, lines, kubernetes: withLostEvents(cluster.ports.kubernetes, { ...cluster.ports, log }) };
}

test('an event that a policy denies is in the log, with what it would have said', async () => {
  const { outside, kubernetes, lines } = telling();
  outside.deny = denying('POST', '');
  await publish(kubernetes, note, START);
  expect(lines).toEqual([
    expect.objectContaining({
      event: 'event-lost',
      kind: 'Node',
      name: 'n',
      reason: 'Tested',
      message: 'something has happened',
      policy: `ValidatingAdmissionPolicy '${POLICY}'`,
    }),
  ]);
});

test('many that are denied are one line in ten minutes', async () => {
  const { outside, kubernetes, lines, clock } = telling();
  outside.deny = denying('POST', '');
  await publish(kubernetes, note, START);
  await publish(kubernetes, { ...note, message: 'more' }, START);
  expect(lines).toHaveLength(1);
  clock.advance(10 * 60_000);
  await publish(kubernetes, note, START);
  expect(lines).toHaveLength(2);
});

test('one that fails for now is in the log too, and one that is written, or known, is not', async () => {
  const { outside, kubernetes, lines } = telling();
  await publish(kubernetes, note, START);
  await publish(kubernetes, note, START);
  expect(lines).toEqual([]);
  outside.onRequest = () => {
    throw new RetryableError('busy');
  };
  await publish(kubernetes, { ...note, message: 'more' }, START);
  expect(lines).toEqual([expect.objectContaining({ event: 'event-lost', policy: null, why: 'busy' })]);
});

test('what is created otherwise is not an event, whatever becomes of it', async () => {
  const { outside, kubernetes, lines } = telling();
  outside.deny = denying('POST', '');
  expect(await kubernetes.create('Lease', { metadata: { name: 'l', namespace: 'd' } })).toMatchObject({
    kind: 'refused',
  });
  expect(lines).toEqual([]);
});
