import { describe, expect, test } from 'vitest';
import { findShortfall } from '../../../../../shared/app/follow/judge/consistency.ts';
import type { Node } from '../../../../../shared/kubernetes/manifest.ts';
import { claim } from '../../../../kit/app/build-claim.ts';

/** What is said of a node with `found`, of a claim that asked for `requests` and expects 4 cores and 10 GiB. */
function shortfall(found: Readonly<Record<string, string>>, requests: Readonly<Record<string, string>>): string | null {
  const made = claim({ status: { ...claim().status, capacity: { cpu: '4', memory: '10Gi', pods: '110' } } });
  const node: Node = { metadata: { name: 'aks-c' }, status: { capacity: found } };
  return findShortfall({ ...made, spec: { ...made.spec, resources: { requests } } }, node);
}

describe('a node that has much less than its claim expects [J09]', () => {
  const asked = { cpu: '1', memory: '1Gi' };

  test('is told of with the first resource that is short, and its share', () => {
    expect(shortfall({ cpu: '4', memory: '8Gi' }, asked)).toBe(
      'expected 10Gi of resource memory, but found 8Gi (80% of expected)',
    );
    expect(shortfall({ memory: '10Gi' }, asked)).toBe('expected 4 of resource cpu, but found 0 (0% of expected)');
  });

  test('has less than nine tenths of it', () => {
    expect(shortfall({ cpu: '3600m', memory: '9Gi' }, asked)).toBeNull();
    expect(shortfall({ cpu: '3599m', memory: '9Gi' }, asked)).toContain('(89% of expected)');
  });

  test('is not told of for what its pods did not ask for, nor for what was never expected', () => {
    expect(shortfall({ cpu: '4' }, { cpu: '1' })).toBeNull();
    expect(shortfall({ cpu: '4' }, { cpu: '1', 'nvidia.com/gpu': '1' })).toBeNull();
  });
});

test('a claim that says nothing of what it expects is short of nothing, and a node that says nothing is of all', () => {
  const bare = { ...claim(), status: {} };
  const requests = { cpu: '1' };
  const node: Node = { metadata: { name: 'aks-c' } };
  expect(findShortfall({ ...bare, spec: { ...bare.spec, resources: { requests } } }, node)).toBeNull();
  const telling = { ...bare, status: { capacity: { cpu: '4' } }, spec: { ...bare.spec, resources: { requests } } };
  expect(findShortfall(telling, node)).toBe('expected 4 of resource cpu, but found 0 (0% of expected)');
});
