import { expect, test } from 'vitest';
import { isUntimely, timelyClaim } from '../../../../shared/app/claims/timely-claim.ts';
import type { NodeClaim } from '../../../../shared/kubernetes/manifest.ts';
import { START, denying, since, smallCluster } from '../../../kit/app/small-cluster.ts';

const HOUR_MS = 3_600_000;
const AHEAD = START + 24 * HOUR_MS;

/** A claim an hour old, of which one condition, and the last pod event, are of a clock a day ahead. */
function ahead() {
  const cluster = smallCluster();
  const { server, clock, ports } = cluster;
  const conditions = [since(START, 'Launched'), since(AHEAD, 'Registered')];
  cluster.addClaim('c', { status: { conditions, lastPodEventTime: new Date(AHEAD).toISOString() } });
  clock.advance(HOUR_MS);
  const read = server.get('nodeclaims', 'c') as unknown as NodeClaim;
  const timesOf = ({ status }: Pick<NodeClaim, 'status'>) => [
    ...(status?.conditions ?? []).map(({ lastTransitionTime }) => Date.parse(lastTransitionTime ?? '')),
    Date.parse(status?.lastPodEventTime ?? ''),
  ];
  return { ...cluster, ports, read, timesOf, stored: () => server.get('nodeclaims', 'c') as unknown as NodeClaim };
}

test('what a clock that is ahead has written on a claim is written as of now, and all else stays', async () => {
  const { ports, read, stored, timesOf, clock, trace } = ahead();
  expect(isUntimely(read, clock.now())).toBe(true);
  const timely = await timelyClaim(ports, read);
  expect(timesOf(stored())).toEqual([START, clock.now(), clock.now()]);
  expect(timesOf(timely)).toEqual(timesOf(stored()));
  trace.length = 0;
  expect(await timelyClaim(ports, timely)).toBe(timely);
  expect(trace).toEqual([]);
});

test('where that may not be written it counts as of the creation of the claim, so that what waits ends', async () => {
  const { ports, read, stored, timesOf, outside } = ahead();
  outside.deny = denying('PATCH', '/nodeclaims/c/status');
  expect(timesOf(await timelyClaim(ports, read))).toEqual([START, START, START]);
  expect(timesOf(stored())).toEqual([START, AHEAD, AHEAD]);
});
