import type { Readable } from 'node:stream';
import { evictionCosts } from '../../shared/app/gather/eviction-costs.ts';
import { moveCosts } from '../../shared/app/gather/move-costs.ts';
import { poolsByProvider } from '../../shared/contract/own-class.ts';
import { DEFAULT_DISRUPTION, type DisruptionInput } from '../../shared/core/model/disruption-input.ts';
import { policyNow } from '../../shared/core/disruption/brakes/policy-now.ts';
import { planDisruption } from '../../shared/core/disruption/plan-disruption.ts';
import {
  soundDisruption,
  type DisruptionPlanner,
  type RefusedDisruption,
} from '../../shared/core/disruption/sound-disruption.ts';
import { instant } from '../../shared/core/quantity/units.ts';
import { DEFAULT_WORK, KARPENTER_POLICY } from '../../shared/core/model/provisioning-input.ts';
import type { DisruptOptions } from '../command.ts';
import { isUsable, refuseMissingClasses } from '../input/missing-classes.ts';
import { deviceSupport, inFlightOf, readCatalogs, readCluster, type PlanOutcome } from '../plan/plan-from-files.ts';
import { renderJson, renderYaml } from '../documents/render-document.ts';
import { renderCount } from '../../shared/core/quantity/render-count.ts';
import { renderDisruption } from './render-disruption.ts';
import { toDisruptionDocument } from './to-disruption-document.ts';

/** Reads, plans, audits, renders. Throws WrongInputError with all that is wrong with the input. */
export async function disruptFromFiles(options: DisruptOptions, stdin: Readable): Promise<PlanOutcome> {
  const nowMs = options.nowMs ?? Date.now();
  const { snapshot, notes } = await readCluster(options, stdin, nowMs);
  const { own, foreign: foreignPools } = poolsByProvider(snapshot.nodePools);
  const nodePools = refuseMissingClasses(own, snapshot);
  const cluster = { ...snapshot, nodePools };
  const usable = { ...cluster, nodePools: nodePools.filter(isUsable) };
  const { catalog, templates, notes: more, prices } = await readCatalogs(options, usable);
  const gates = { ...KARPENTER_POLICY.gates, nodeOverlay: true, capacityBuffer: true, staticCapacity: true };
  const input: DisruptionInput = {
    provisioning: {
      cluster,
      foreignPools,
      catalog,
      inFlight: inFlightOf(cluster),
      policy: { ...KARPENTER_POLICY, gates },
      work: DEFAULT_WORK,
      devices: await deviceSupport(cluster, templates),
      evictionCostMs: evictionCosts(nodePools),
      held: [],
    },
    policy: policyNow({ ...DEFAULT_DISRUPTION, moveCostOf: moveCosts(nodePools) }, cluster, nowMs),
  };
  let solveMs = 0;
  const timed: DisruptionPlanner = (given, now) => {
    const startedMs = performance.now();
    const made = planDisruption(given, now);
    solveMs += performance.now() - startedMs;
    return made;
  };
  const { plan, refused } = soundDisruption(input, instant(nowMs), { planner: timed });
  const document = toDisruptionDocument(plan, solveMs, prices.currency);
  const text = await render(document, options.output, prices.from);
  const nothing =
    cluster.nodes.length === 0 ? ['no Node is given, so that none can go: give what kubectl get prints'] : [];
  const allNotes = [...notes, ...nothing, ...more];
  if (refused === null) return { text, notes: allNotes, errors: [], exitCode: 0 };
  return { text, notes: allNotes, errors: renderRefused(refused), exitCode: 3 };
}

/** One fault is often found on each node that it concerns. */
const FINDINGS_SHOWN = 5;

/** What broke the audit's rules, which is a fault of ours, and what is shown in its place. */
function renderRefused({ findings, instead, leftOut }: RefusedDisruption): ReadonlyArray<string> {
  const told = findings
    .slice(0, FINDINGS_SHOWN)
    .map(({ rule, text: what }) => `internal error: the plan broke the rule ${rule}: ${what}`);
  const more = findings.length - told.length;
  return [
    ...told,
    ...(more > 0 ? [`and ${renderCount(more, 'finding')} more`] : []),
    instead === 'rest'
      ? `what is shown is planned without ${renderCount(leftOut.length, 'node')} that this names; please report it`
      : 'no plan without what this names holds, so no node can be removed; please report it',
  ];
}

async function render(
  document: ReturnType<typeof toDisruptionDocument>,
  output: DisruptOptions['output'],
  prices: string,
): Promise<string> {
  if (output === 'table') return renderDisruption(document, prices);
  return output === 'json' ? renderJson(document) : renderYaml(document);
}
