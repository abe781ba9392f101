import { MIN_VALUES_RELAXED, type PlannedClaim } from '../../model/plan.ts';
import { restrictedDomainOf } from '../../../kubernetes/labels.ts';
import { addAmounts, renderAmounts, type Amounts } from '../../../kubernetes/text/quantity.ts';
import { isBufferPod } from '../../present/buffer-pods.ts';
import { chooseFor, noChoices, type ClaimChoice } from './claim-choice.ts';
import { at } from '../../quantity/at.ts';
import { fixedLabels } from '../../offerings/compile-pool.ts';
import { byCodeUnit, chooseValue } from '../../rules/label-rule.ts';
import { minValuesOf } from '../../offerings/min-values.ts';
import type { OpenClaim } from '../../placing/state/open-claim.ts';
import { driversNeeded } from './device-assignments.ts';
import { podName } from '../../model/pod-name.ts';
import type { Workspace } from '../../placing/state/workspace.ts';

/** Karpenter's list of the DRA drivers whose devices the claim's pods count on: its node is not ready without them. */
const REQUESTED_DRIVERS = 'karpenter.sh/requested-dra-drivers';

type Explain = (claim: OpenClaim) => PlannedClaim['cheaper'];

/** The claims as a plan states them. Why nothing cheaper was chosen is worked out when it is first asked for. */
export function renderClaims(workspace: Workspace, explain: Explain): ReadonlyArray<PlannedClaim> {
  const choices = noChoices();
  const labels = new Map<ClaimChoice, Labels>();
  return workspace.claims.map((claim) => {
    const choice = chooseFor(choices, claim);
    // Claims that share a choice are of one pool, with the same labels open.
    const own = labels.get(choice) ?? labelsOf(claim);
    labels.set(choice, own);
    return renderClaim(workspace, claim, { ...choice, labels: own }, explain);
  });
}

type Labels = Readonly<Record<string, string>>;

function labelsOf(claim: OpenClaim): Labels {
  return { ...fixedLabels(claim.state.pool.manifest), ...openLabels(claim) };
}

function renderClaim(
  workspace: Workspace,
  claim: OpenClaim,
  choice: ClaimChoice & Pick<PlannedClaim, 'labels'>,
  explain: Explain,
): PlannedClaim {
  const { pool } = claim.state;
  const { template } = pool.manifest.spec;
  let reasons: PlannedClaim['cheaper'] | null = null;
  return {
    nodePool: pool.name,
    ...choice,
    get cheaper() {
      reasons ??= explain(claim);
      return reasons;
    },
    annotations: {
      ...template.metadata?.annotations,
      ...driversOf(workspace, claim),
      ...(minValuesOf(claim.state).size === 0 ? {} : { [MIN_VALUES_RELAXED]: String(claim.minValuesRelaxed) }),
    },
    taints: template.spec.taints ?? [],
    startupTaints: template.spec.startupTaints ?? [],
    requests: renderAmounts(requestsOf(workspace, claim)),
    pods: claim.pods
      .filter((pod) => !isBufferPod(pod))
      .map((pod) => ({ name: podName(workspace.input.cluster, pod), uid: pod.uid }))
      .toSorted((a, b) => byCodeUnit(a.name, b.name) || byCodeUnit(a.uid, b.uid)),
  };
}

function driversOf(workspace: Workspace, claim: OpenClaim): Readonly<Record<string, string>> {
  const drivers = driversNeeded(workspace, claim);
  return drivers.length === 0 ? {} : { [REQUESTED_DRIVERS]: drivers.join(',') };
}

/** A value for every custom label that the pool requires and leaves open, as the pods narrowed it. */
function openLabels({ state: { pool }, open }: OpenClaim): Labels {
  const labels: Record<string, string> = {};
  for (const [key, rule] of [...pool.rules, ...open]) {
    const decidedElsewhere = pool.catalog.marketKeys.has(key) || pool.catalog.labels.has(key);
    const value = decidedElsewhere || restrictedDomainOf(key) !== null ? null : chooseValue(open.get(key) ?? rule);
    if (value !== null) labels[key] = value;
  }
  return labels;
}

function requestsOf(workspace: Workspace, claim: OpenClaim): Amounts {
  const { type = 0, bit = 0 } = claim.chosen ?? {};
  const total = new Map<string, number>();
  for (const { shape } of claim.pods) addAmounts(total, workspace.shapes.get(shape)?.amounts ?? new Map());
  for (const { daemon, offered } of claim.state.daemons) {
    if ((at(offered, type) >> bit) & 1) addAmounts(total, daemon.requests);
  }
  return total;
}
