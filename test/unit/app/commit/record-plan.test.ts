import { expect, test } from 'vitest';
import { MemoryBlobs } from '../../../simulation/world/memory-blobs.ts';
import { createFiguresLog } from '../../../../shared/adapters/storage/figures-log.ts';
import type { Gathered } from '../../../../shared/app/gather/gather.ts';
import type { Ports } from '../../../../shared/app/ports/ports.ts';
import { makePlan } from '../../../../shared/app/plan/make-plan.ts';
import { recordPlan } from '../../../../shared/app/commit/record-plan.ts';
import { NO_FIGURES, parseFigures } from '../../../../shared/contract/figures/plan-figures.ts';
import { auditPlan } from '../../../../shared/core/audit/audit-plan.ts';
import { planDisruption } from '../../../../shared/core/disruption/plan-disruption.ts';
import { planProvisioning } from '../../../../shared/core/plan-provisioning.ts';
import type { Blobs } from '../../../../shared/ports/blobs.ts';
import { RetryableError } from '../../../../shared/ports/errors.ts';
import { input, pods, pool, shape, size, spec } from '../../../kit/core/build.ts';

const TAKEN = 1_000_000;

/** Three pods that fit and one that nothing holds, planned by a clock that moves by 20 ms whenever it is looked at. */
function planned(blobs: Blobs, zones: ReadonlyArray<string> = []) {
  const given = input({
    types: [size('Standard_D4s_v5', 4, 16, 200_000)],
    nodePools: [pool('general')],
    shapes: [
      shape(spec('1', '1Gi')),
      shape(spec('64', '1Gi')),
      ...zones.map((zone) => shape(spec('1', '1Gi', { nodeSelector: { 'topology.kubernetes.io/zone': zone } }))),
    ],
    pods: [...pods(0, 3), ...pods(1, 1), ...zones.flatMap((_, index) => pods(2 + index, 1))],
  });
  const logged: Array<readonly [string, object]> = [];
  let nowMs = TAKEN;
  const ports = {
    now: () => (nowMs += 20),
    planner: planProvisioning,
    disruptionPlanner: planDisruption,
    log: (event: string, facts: object) => void logged.push([event, facts]),
    figuresLog: createFiguresLog(blobs, 'c'),
  } as unknown as Ports;
  const snapshot = { ...given.cluster, version: '1-7', takenAtMs: TAKEN };
  const gathered = { snapshot, input: given, ledger: { generation: 4 } } as unknown as Gathered;
  const made = makePlan(ports, gathered, given);
  expect(auditPlan(made.plan, given)).toEqual([]);
  return { ports, made, logged };
}

const said = {
  fate: 'holds',
  snapshot: '1-7',
  tookMs: 20,
  pending: 4,
  unschedulable: 1,
  ignored: 0,
  zones: '{"flexible":4}',
};

test('a plan is told once to the portal and once to the record, with the same figures [I15]', async () => {
  const blobs = new MemoryBlobs();
  const { ports, made, logged } = planned(blobs);
  await recordPlan(ports, made, 'holds');
  expect(logged).toEqual([['planned', said]]);
  const record = parseFigures(new TextDecoder().decode(blobs.readNow('c/figures')?.bytes)) ?? NO_FIGURES;
  expect(record.durations.sumMs).toBe(20);
  expect(record.last).toEqual({
    atMs: TAKEN + 40,
    decidedUpToMs: TAKEN,
    pending: 4,
    unschedulable: 1,
    ignored: 0,
    zones: { flexible: 4 },
  });
});

test('storage that is down costs the figures and nothing else [I15]', async () => {
  const fail = (): Promise<never> => Promise.reject(new RetryableError('storage is down'));
  const { ports, made, logged } = planned({ read: fail, write: fail });
  await recordPlan(ports, made, 'holds');
  expect(logged).toEqual([
    ['planned', said],
    ['figures-lost', { reason: 'storage is down' }],
  ]);
});

test('so does a record that others write all the time [I15]', async () => {
  const { ports, made, logged } = planned({
    read: () => Promise.resolve(null),
    write: () => Promise.resolve(false),
  });
  await recordPlan(ports, made, 'lost');
  expect(logged.map(([event]) => event)).toEqual(['planned', 'figures-lost']);
});

test('a mistake of ours is not taken for storage that is down [I15]', async () => {
  const { ports, made } = planned({ read: () => Promise.reject(new Error('bug')), write: () => Promise.resolve(true) });
  await expect(recordPlan(ports, made, 'holds')).rejects.toThrow('bug');
});

test('zones are told by name, whatever order their pods came in', async () => {
  const { ports, made, logged } = planned(new MemoryBlobs(), ['westeurope-3', 'westeurope-1', 'westeurope-2']);
  await recordPlan(ports, made, 'holds');
  const zones = '{"flexible":4,"westeurope-1":1,"westeurope-2":1,"westeurope-3":1}';
  expect(logged).toMatchObject([['planned', { zones }]]);
});
