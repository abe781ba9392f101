import { describe, expect, test } from 'vitest';
import { disrupt } from '../../../../shared/app/disrupt/disrupt.ts';
import { planDisruption } from '../../../../shared/core/disruption/plan-disruption.ts';
import type { DisruptionStep } from '../../../../shared/core/disruption/plan/disruption-plan.ts';
import type { DisruptionPlanner } from '../../../../shared/core/disruption/sound-disruption.ts';
import { consolidated } from '../../../kit/app/consolidated.ts';

/** Two empty nodes, `spare` and `third`, and a planner that puts a fault into each step that one of `bad` is in. */
function faulty(bad: ReadonlyArray<string>) {
  const cluster = consolidated();
  cluster.addReady('third');
  const told: Array<readonly [string, object]> = [];
  const isBad = ({ remove }: DisruptionStep): boolean => remove.some((name) => bad.includes(name));
  const disruptionPlanner: DisruptionPlanner = (input, now) => {
    const plan = planDisruption(input, now);
    const apart = plan.steps.flatMap((step) =>
      step.remove.map((name): DisruptionStep => ({ ...step, remove: [name], saved: step.saved / step.remove.length })),
    );
    return { ...plan, steps: apart.map((step) => (isBad(step) ? { ...step, reason: 'Drifted' } : step)) };
  };
  const ports = {
    ...cluster.ports,
    disruptionPlanner,
    log: (event: string, facts: object) => void told.push([event, facts]),
  };
  const refusals = () => told.filter(([event]) => event.endsWith('-refused'));
  return { ...cluster, ports, refusals };
}

describe('a plan that breaks a rule of its audit', () => {
  test('is not begun: the nodes that the finding names stay, the others go, and both are told', async () => {
    const { ports, marks, refusals, events } = faulty(['aks-spare']);
    expect(await disrupt(ports)).toMatchObject({ kind: 'begun', nodes: 1 });
    expect([marks('spare').tainted, marks('third').reason]).toEqual([false, 'Empty']);
    const finding = 'blocked: step 1: aks-spare has not drifted';
    expect(refusals()).toMatchObject([
      ['disruption-plan-refused', { findings: finding, instead: 'rest', leftOut: 'aks-spare' }],
    ]);
    const message = `The plan to remove it broke a rule of the audit and was not carried out (${finding}). This is a fault of Nodewright: please report it`;
    expect(events()).toContainEqual(['PlanRefused', message]);
  });

  test('of which nothing holds leaves the cluster as it is', async () => {
    const { ports, marks, refusals, trace } = faulty(['aks-spare', 'aks-third', 'aks-used']);
    expect((await disrupt(ports)).kind).toBe('idle');
    expect([marks('spare').tainted, marks('third').tainted]).toEqual([false, false]);
    expect(refusals().map(([event]) => event)).toContain('disruption-plan-refused');
    expect(trace.filter((step) => /^(PATCH|DELETE) .*(nodeclaims|nodes)\//.test(step))).toEqual([]);
  });

  test('that holds is told nobody', async () => {
    const { ports, refusals } = faulty([]);
    expect(await disrupt(ports)).toMatchObject({ kind: 'begun' });
    expect(refusals()).toEqual([]);
  });
});

test('a removal that its audit refuses waits, is told, and stays after ten minutes', async () => {
  const { ports, addRunning, addReady, stateOf, marks, clock, refusals } = faulty([]);
  addReady('fourth');
  addRunning('light', 'fourth', {
    spec: { containers: [{ resources: { requests: { cpu: '200m', memory: '1Gi' } } }] },
  });
  for (const name of ['spare', 'third']) addRunning(`full-${name}`, name, FULL);
  expect(await disrupt(ports)).toMatchObject({ kind: 'begun', nodes: 1 });
  clock.advance(6_000);
  // A plan of provisioning that forgets the pod: its own audit does not ask for pods that it does not name.
  const wrong = {
    ...ports,
    planner: (...asked: Parameters<typeof ports.planner>) => ({ ...ports.planner(...asked), nominations: [] }),
  };
  expect(await disrupt(wrong)).toEqual({ kind: 'waiting', for: 'a removal that passes the audit' });
  expect(refusals()).toMatchObject([
    ['removal-refused', { nodes: 'aks-fourth', findings: 'pod-lost: pod light has no place' }],
  ]);
  expect([stateOf('fourth'), marks('fourth').tainted]).toEqual(['there', true]);
  clock.advance(600_000);
  expect(await disrupt(wrong)).toMatchObject({ kind: 'finished', removed: 0, takenBack: 1 });
  expect([stateOf('fourth'), marks('fourth').tainted]).toEqual(['there', false]);
});

const FULL = { spec: { containers: [{ resources: { requests: { cpu: '1500m', memory: '1Gi' } } }] } };
