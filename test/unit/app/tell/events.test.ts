import { describe, expect, test } from 'vitest';
import { type EventNote, publish } from '../../../../shared/app/tell/events.ts';
import { RetryableError } from '../../../../shared/ports/errors.ts';
import type { Fields } from '../../../simulation/world/api-server.ts';
import { START, smallCluster } from '../../../kit/app/small-cluster.ts';

const note: EventNote = {
  regarding: { apiVersion: 'v1', kind: 'Pod', name: 'web', namespace: 'shop', uid: 'u' },
  type: 'Warning',
  reason: 'FailedScheduling',
  message: 'no room',
};

describe('an event', () => {
  test('is with what it is about', async () => {
    const { ports, server } = smallCluster();
    await publish(ports.kubernetes, note, START);
    expect(server.list('events')).toMatchObject([
      {
        metadata: { namespace: 'shop' },
        involvedObject: note.regarding,
        type: 'Warning',
        reason: 'FailedScheduling',
        message: 'no room',
        firstTimestamp: '2026-12-01T00:00:00Z',
        lastTimestamp: '2026-12-01T00:00:00Z',
      },
    ]);
  });

  test('about what has no namespace is in the default one', async () => {
    const { ports, server } = smallCluster();
    await publish(ports.kubernetes, { ...note, regarding: { ...note.regarding, namespace: null } }, START);
    expect(server.list('events')).toMatchObject([{ metadata: { namespace: 'default' } }]);
    expect(server.list('events')[0]).not.toHaveProperty('involvedObject.namespace');
  });

  test('is there once however often it is told, and again for another object, reason or text', async () => {
    const { ports, server } = smallCluster();
    const others = [
      { ...note, regarding: { ...note.regarding, uid: 'v' } },
      { ...note, reason: 'Evicted' },
      { ...note, message: 'still no room' },
    ];
    for (const one of [note, note, ...others]) await publish(ports.kubernetes, one, START);
    expect(server.list('events')).toHaveLength(4);
  });

  test('that happens again is counted up and moved to now, but not within the time that it gives', async () => {
    const { ports, server } = smallCluster();
    const again = { ...note, againMs: 300_000 };
    const told = (): unknown =>
      (server.list('events') as ReadonlyArray<Fields>).map(({ count, firstTimestamp, lastTimestamp }) => [
        count,
        firstTimestamp,
        lastTimestamp,
      ]);
    for (const minutes of [0, 4]) await publish(ports.kubernetes, again, START + minutes * 60_000);
    expect(told()).toEqual([[1, '2026-12-01T00:00:00Z', '2026-12-01T00:00:00Z']]);
    for (const minutes of [5, 6, 10]) await publish(ports.kubernetes, again, START + minutes * 60_000);
    expect(told()).toEqual([[3, '2026-12-01T00:00:00Z', '2026-12-01T00:10:00Z']]);
    await publish(ports.kubernetes, note, START + 20 * 60_000);
    expect(told()).toEqual([[3, '2026-12-01T00:00:00Z', '2026-12-01T00:10:00Z']]);
  });

  test('is cut where Kubernetes cuts it, and so is its name', async () => {
    const { ports, server } = smallCluster();
    const regarding = { ...note.regarding, name: 'n'.repeat(253) };
    await publish(ports.kubernetes, { ...note, regarding, message: 'x'.repeat(2_000) }, START);
    expect(server.list('events')).toMatchObject([{ message: 'x'.repeat(1_024) }]);
    expect(server.list('events')[0]?.metadata.name.length).toBeLessThanOrEqual(253);
  });

  test('sorts by its name behind what comes before it in the same second', async () => {
    const { ports, server } = smallCluster();
    const reasons = ['FailedScheduling', 'Launched', 'Nominated', 'Registered', 'Initialized', 'Unconsolidatable'];
    for (const reason of reasons) await publish(ports.kubernetes, { ...note, reason }, START);
    const byName = (server.list('events') as ReadonlyArray<Fields>).toSorted((a, b) =>
      a['metadata'].name < b['metadata'].name ? -1 : 1,
    );
    expect(byName.map(({ reason }) => reason)).toEqual(reasons);
  });

  test('that cannot be published stops nobody', async () => {
    const { ports, outside } = smallCluster();
    outside.onRequest = () => {
      throw new RetryableError('busy');
    };
    await expect(publish(ports.kubernetes, note, START)).resolves.toBeUndefined();
  });

  test('has a message of one line that no terminal obeys, whatever a name or Azure says', async () => {
    const { ports, server } = smallCluster();
    await publish(ports.kubernetes, { ...note, message: 'no \u001B[2J\u202Ezone\nis left' }, START);
    expect(server.list('events')).toMatchObject([{ message: 'no \\u{1b}[2J\\u{202e}zone is left' }]);
  });
});
