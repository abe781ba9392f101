import { describe, expect, it } from 'vitest';
import { type Registration, judgeHealth, resetHealth } from '../../../shared/app/follow/registration-health.ts';
import type { NodePool } from '../../../shared/kubernetes/manifest.ts';
import { nodePool } from './build-claim.ts';

const TYPE = 'NodeRegistrationHealthy';
const fresh: NodePool = { ...nodePool(), metadata: { name: 'general', generation: 3 } };

function shown(
  condition: { readonly status: string; readonly reason: string; readonly message: string },
  at = 3,
): NodePool {
  return { ...fresh, status: { conditions: [{ type: TYPE, ...condition, observedGeneration: at }] } };
}

/** The condition after a row of results: `s` registered, `f` failed. */
function after(row: string): ReturnType<typeof judgeHealth> {
  let pool = fresh;
  for (const letter of row) {
    const result: Registration =
      letter === 's' ? { kind: 'registered' } : { kind: 'failed', reason: 'RegistrationTimeout' };
    pool = shown(judgeHealth(pool, result));
  }
  const [condition] = pool.status?.conditions ?? [];
  return { type: TYPE, status: 'Unknown', reason: '', message: '', ...condition } as ReturnType<typeof judgeHealth>;
}

describe('whether nodes of a pool register [J02] [J05]', () => {
  it.each([
    ['s', 'True'],
    ['f', 'True'],
    ['ff', 'False'],
    ['sfsf', 'False'],
    ['ffs', 'False'],
    ['ffss', 'False'],
    ['ffsss', 'True'],
    ['ssssf', 'True'],
    ['fsssf', 'True'],
    ['fssf', 'False'],
  ])('after %s of the last four it is %s', (row, status) => {
    expect(after(row).status).toBe(status);
  });

  it('while all register nothing changes that would have to be written', () => {
    expect(after('ssss')).toMatchObject({ ...after('s') });
  });

  it('the reason is that of the last failure, and the message tells what is remembered', () => {
    expect(after('sff')).toMatchObject({ reason: 'RegistrationTimeout', message: 'last nodes: failed, failed' });
    expect(after('ffs').reason).toBe('RegistrationTimeout');
  });

  it('results of an older spec count no more', () => {
    const old = shown({ status: 'False', reason: 'LaunchTimeout', message: 'last nodes: failed, failed' }, 2);
    expect(judgeHealth(old, { kind: 'registered' })).toMatchObject({ status: 'True', message: '' });
  });

  it('a new spec or a new class makes it unknown, and nothing else does [J12]', () => {
    const healthy = shown({ status: 'True', reason: TYPE, message: '' });
    const seen = { ...healthy, status: { ...healthy.status, nodeClassObservedGeneration: 5 } };
    expect(resetHealth(fresh, 5)?.status).toBe('Unknown');
    expect(resetHealth(seen, 5)).toBeNull();
    expect(resetHealth(seen, 6)?.status).toBe('Unknown');
    expect(resetHealth(shown({ status: 'True', reason: TYPE, message: '' }, 2), 5)?.status).toBe('Unknown');
  });
});
