import type { Readable } from 'node:stream';
import { evictionCosts } from '../../shared/app/eviction-costs.ts';
import { moveCosts } from '../../shared/app/move-costs.ts';
import { rollouts } from '../../shared/app/disrupt/rollouts.ts';
import { pauses } from '../../shared/app/pauses.ts';
import { poolsByProvider } from '../../shared/contract/own-class.ts';
import { DEFAULT_DISRUPTION, type DisruptionInput } from '../../shared/core/model/disruption-input.ts';
import { planDisruption } from '../../shared/core/disruption/plan-disruption.ts';
import { auditDisruption } from '../../shared/core/disruption/audit/audit-disruption.ts';
import { instant } from '../../shared/core/quantity/units.ts';
import { DEFAULT_WORK, KARPENTER_POLICY } from '../../shared/core/model/provisioning-input.ts';
import type { DisruptOptions } from '../command.ts';
import { isUsable, refuseMissingClasses } from '../input/missing-classes.ts';
import { deviceSupport, inFlightOf, readCatalogs, readCluster, type PlanOutcome } from '../plan/plan-from-files.ts';
import { renderJson, renderYaml } from '../plan/render-document.ts';
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
    },
    policy: {
      ...DEFAULT_DISRUPTION,
      moveCostOf: moveCosts(nodePools),
      brakes: pauses(nodePools, nowMs),
      rollouts: rollouts(cluster, nowMs),
    },
  };
  const startedMs = performance.now();
  const plan = planDisruption(input, instant(nowMs));
  const document = toDisruptionDocument(plan, performance.now() - startedMs, prices.currency);
  const findings = auditDisruption(plan, input, instant(nowMs));
  if (findings.length > 0) {
    const errors = findings.map(({ rule, text: what }) => `internal error: the plan broke the rule ${rule}: ${what}`);
    return {
      text: '',
      notes: [...notes, ...more],
      errors: [...errors, 'the plan is not shown; please report it'],
      exitCode: 3,
    };
  }
  const text = await render(document, options.output, prices.from);
  return { text, notes: [...notes, ...more], errors: [], exitCode: 0 };
}

async function render(
  document: ReturnType<typeof toDisruptionDocument>,
  output: DisruptOptions['output'],
  prices: string,
): Promise<string> {
  if (output === 'table') return renderDisruption(document, prices);
  return output === 'json' ? renderJson(document) : renderYaml(document);
}
