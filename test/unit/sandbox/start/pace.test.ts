import { expect, test } from 'vitest';
import { paceFor } from '../../../../sandbox/start/pace.ts';

test.for([
  [0, 0],
  [8, 8 / 60],
  [60, 1],
  [600, 1],
] as const)(
  'with %s s for a boot, waits are Azure’s in the same proportion, and never longer',
  ([bootSeconds, share]) => {
    expect(paceFor(bootSeconds).latency.retryAfterShare).toBe(share);
  },
);
