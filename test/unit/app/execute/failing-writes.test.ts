import { describe, expect, test } from 'vitest';
import { resumeNow } from '../../../../shared/app/commit/commit-plan.ts';
import { disrupt } from '../../../../shared/app/disrupt/disrupt.ts';
import type { Ports } from '../../../../shared/app/ports/ports.ts';
import { provision } from '../../../../shared/app/provision/provision.ts';
import { RetryableError } from '../../../../shared/ports/errors.ts';
import type { Decision } from '../../../../shared/ports/store.ts';
import { emptied } from '../../../kit/app/consolidated.ts';
import { START, decisionOf, since, smallCluster } from '../../../kit/app/small-cluster.ts';

/**
 * What nobody denies and fails all the same, as where a webhook that is called for it does not answer, keeps others
 * waiting for minutes at most.
 */

const MINUTE_MS = 60_000;
const AHEAD_MS = 24 * 60 * MINUTE_MS;

/** Makes it the latest decision, which nobody has executed. */
async function commit(ports: Ports, decision: Decision): Promise<void> {
  await ports.decisions.put(decision);
  await ports.ledger.commit(await ports.ledger.read(), decision.name);
}

describe('a NodePool whose NodeClaims cannot be created', () => {
  test('keeps its pods from another pool for two minutes, and says why', async () => {
    const cluster = smallCluster();
    const { server, outside, clock, ports, conditionOf } = cluster;
    cluster.addClass('True');
    cluster.addPool('failing');
    cluster.addPool('general');
    server.patch('nodepools', 'failing', { spec: { weight: 100 } }, 'object');
    outside.onRequest = ({ method, path, body }) => {
      const isOfPool = JSON.stringify(body ?? {}).includes('"karpenter.sh/nodepool":"failing"');
      if (method === 'POST' && path.endsWith('/nodeclaims') && isOfPool) throw new RetryableError('no answer');
    };
    cluster.addPod('a');
    clock.advance(10_000);
    await expect(provision(ports)).rejects.toThrow('no answer');
    clock.advance(2 * MINUTE_MS);
    expect(await provision(ports)).toMatchObject({ kind: 'provisioned', claims: 1 });
    expect(server.list('nodeclaims').map(({ metadata }) => metadata.labels?.['karpenter.sh/nodepool'])).toEqual([
      'general',
    ]);
    const said = conditionOf('failing', 'WriteDenied', 'nodepools');
    expect(said).toMatchObject({ status: 'True', reason: 'WriteFails' });
    expect(said?.['message']).toMatch(/^Tried again from 2026-12-01T00:04:10Z: .*no answer\. Look for a webhook/);
  });
});

describe('a node that cannot be closed', () => {
  test.each(['/nodes/aks-large', '/nodeclaims/large', '/nodeclaims/large/status'])(
    'has one replacement made in an hour, which is taken back: %s',
    async (end) => {
      const cluster = emptied({ types: 2 });
      const { server, ports, outside, clock } = cluster;
      cluster.addReady('large', 8);
      cluster.addRunning('web', 'large');
      let made = 0;
      outside.onRequest = ({ method, path }) => {
        if (method === 'POST' && path.endsWith('/nodeclaims')) made++;
        if (method === 'PATCH' && path.endsWith(end)) throw new RetryableError('no answer');
      };
      const outcomes = new Array<string>();
      for (let minute = 0; minute < 55; minute++) {
        // One after the other.
        outcomes.push(
          await disrupt(ports).then(
            ({ kind }) => kind,
            (error: Error) => error.message,
          ),
        );
        for (const { metadata } of server.list('nodeclaims')) {
          if (metadata.deletionTimestamp === undefined) continue;
          server.patch('nodeclaims', metadata.name, { metadata: { finalizers: [] } }, 'object');
        }
        clock.advance(MINUTE_MS);
      }
      // Each try of the same decision asks for the same name.
      expect(made).toBe(3);
      expect(outcomes.slice(0, 2)).toEqual(['no answer', 'no answer']);
      expect(new Set(outcomes.slice(2))).toEqual(new Set([end.endsWith('/status') ? 'waiting' : 'idle']));
      expect(server.list('nodeclaims').map(({ metadata }) => metadata.name)).toEqual(['large']);
      expect(cluster.marks('large').tainted).toBe(false);
    },
  );

  test('says why, and until when it is left alone', async () => {
    const cluster = emptied();
    cluster.addReady('spare');
    cluster.outside.onRequest = ({ method, path }) => {
      if (method === 'PATCH' && path.endsWith('/nodes/aks-spare')) throw new RetryableError('no answer');
    };
    await expect(disrupt(cluster.ports)).rejects.toThrow('no answer');
    cluster.clock.advance(2 * MINUTE_MS);
    await disrupt(cluster.ports);
    const said = cluster.conditionOf('spare', 'WriteDenied');
    expect(said).toMatchObject({ status: 'True', reason: 'WriteFails' });
    expect(said?.['message']).toMatch(/^Tried again from 2026-12-01T01:02:00Z: .*no answer/);
  });
});

test('a decision that a clock made which is ahead ends as any other', async () => {
  const { ports, outside, addClass, addPool } = smallCluster();
  addClass('True');
  addPool();
  await commit(ports, { ...decisionOf(['a', 'b']), atMs: START + AHEAD_MS });
  outside.onRequest = ({ method, body }) => {
    if (method === 'POST' && JSON.stringify(body).includes('"name":"a"')) throw new RetryableError('no answer');
  };
  expect(await resumeNow(ports)).toMatchObject({ executed: true });
});

describe('a removal of which the NodePool of something that was to come is gone', () => {
  /** The node that was to go, and the decision about it, which nobody has executed. */
  async function begun() {
    const cluster = smallCluster();
    const { ports, server } = cluster;
    cluster.addClass('True');
    cluster.addPool();
    cluster.addClaim('old', { status: { providerID: 'azure://old', conditions: [since(START, 'Initialized')] } });
    cluster.addNode('old');
    const uid = server.get('nodeclaims', 'old')?.metadata.uid ?? '';
    const base = decisionOf(['a', 'b'], [], (name) => (name === 'b' ? 'gone' : 'general'));
    await commit(ports, { ...base, removal: { reason: 'Drifted', claims: [{ name: 'old', uid, node: 'aks-old' }] } });
    return cluster;
  }

  test('closes nothing, and has nothing launched', async () => {
    const { ports, server, sent } = await begun();
    expect(await resumeNow(ports)).toMatchObject({ executed: true });
    expect([sent, server.get('nodes', 'aks-old')?.spec?.['taints']]).toEqual([[], []]);
    expect(server.get('nodeclaims', 'a')?.metadata.deletionTimestamp).toBeDefined();
  });

  test('takes back what was made before others may decide', async () => {
    const { ports } = await begun();
    const order = new Array<string>();
    const remove: typeof ports.kubernetes.delete = async (...asked) => {
      await new Promise((resolve) => void setTimeout(resolve, 5));
      order.push('taken back');
      return ports.kubernetes.delete(...asked);
    };
    const markExecuted: typeof ports.ledger.markExecuted = async (...asked) => {
      order.push('executed');
      await ports.ledger.markExecuted(...asked);
    };
    const [kubernetes, ledger] = [
      { ...ports.kubernetes, delete: remove },
      { ...ports.ledger, markExecuted },
    ];
    await resumeNow({ ...ports, kubernetes, ledger });
    expect(order).toEqual(['taken back', 'executed']);
  });
});
