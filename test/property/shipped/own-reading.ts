import type {
  NodeSelectorTerm,
  PodSpec,
  ResourceList,
  SelectorRequirement,
  Taint,
} from '../../../shared/kubernetes/manifest.ts';

/**
 * What labels, taints and requests mean, read once more: these laws share no code with the planner or its audit, so
 * that a mistake that both make does not hide here. Only what is drawn is known.
 */

/** What a node has, or may come to have, for its labels. No entry: no such label. */
export type NodeLabels = ReadonlyMap<string, ReadonlyArray<string>>;

const LEGACY: Readonly<Record<string, string>> = {
  'beta.kubernetes.io/arch': 'kubernetes.io/arch',
  'beta.kubernetes.io/os': 'kubernetes.io/os',
  'beta.kubernetes.io/instance-type': 'node.kubernetes.io/instance-type',
  'failure-domain.beta.kubernetes.io/zone': 'topology.kubernetes.io/zone',
};

/** The name that a key has now. */
export function keyNow(key: string): string {
  return LEGACY[key] ?? key;
}

/** Is a label with this value, or none, what the expression wants? */
export function wants({ operator, values = [] }: SelectorRequirement, value: string | undefined): boolean {
  if (operator === 'DoesNotExist') return value === undefined;
  if (operator === 'NotIn') return value === undefined || !values.includes(value);
  if (value === undefined) return false;
  if (operator === 'Exists') return true;
  if (operator === 'In') return values.includes(value);
  const [number, bound] = [value, values[0] ?? ''].map((text) => (/^\d+$/.test(text) ? Number(text) : NaN));
  if (number === undefined || bound === undefined) return false;
  const holds = { Gt: number > bound, Gte: number >= bound, Lt: number < bound, Lte: number <= bound }[operator];
  if (holds === undefined) throw new Error(`${operator} is not drawn`);
  return holds;
}

/** Can a node with these labels be what the expression wants? */
export function isMet(expression: SelectorRequirement, labels: NodeLabels): boolean {
  const values = labels.get(keyNow(expression.key));
  return values === undefined ? wants(expression, undefined) : values.some((value) => wants(expression, value));
}

function isTermMet({ matchExpressions = [] }: NodeSelectorTerm, labels: NodeLabels): boolean {
  return matchExpressions.length > 0 && matchExpressions.every((one) => isMet(one, labels));
}

/** The pod's node selector and required node affinity. */
export function mayBeOn({ nodeSelector = {}, affinity }: PodSpec, labels: NodeLabels): boolean {
  const selects = Object.entries(nodeSelector).every(([key, value]) =>
    isMet({ key, operator: 'In', values: [value] }, labels),
  );
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  return selects && (terms === undefined || terms.some((term) => isTermMet(term, labels)));
}

/** How many of the pod's wishes about its node are met: those at these places of its list. */
export function wishesMet({ affinity }: PodSpec, labels: NodeLabels): ReadonlySet<number> {
  const wishes = affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  return new Set(wishes.flatMap(({ preference }, at) => (isTermMet(preference, labels) ? [at] : [])));
}

/** Is there no taint that keeps the pod off? */
export function isTolerated(taints: ReadonlyArray<Taint>, { tolerations = [] }: PodSpec): boolean {
  return taints
    .filter(({ effect }) => effect !== 'PreferNoSchedule')
    .every((taint) =>
      tolerations.some(
        ({ key, operator = 'Equal', value = '', effect }) =>
          (key === undefined || key === taint.key) &&
          (operator === 'Exists' || value === (taint.value ?? '')) &&
          (effect === undefined || effect === taint.effect),
      ),
    );
}

/** Cores or bytes or pieces. */
export function amountOf(quantity: string | number): number {
  const [, digits = '', suffix = ''] = /^([\d.]+)([a-zA-Z]*)$/.exec(String(quantity)) ?? [];
  const power = ['', 'Ki', 'Mi', 'Gi', 'Ti'].indexOf(suffix);
  const factor = power === -1 ? { m: 1e-3, k: 1e3, M: 1e6, G: 1e9 }[suffix] : 1024 ** power;
  if (digits === '' || factor === undefined) throw new Error(`${quantity} is not drawn`);
  return Number(digits) * factor;
}

/** Amounts by resource. */
export type Taken = Map<string, number>;

/** What pods of such specs ask for together, themselves counted. */
export function takenBy(specs: Iterable<PodSpec>): Taken {
  const total: Taken = new Map();
  for (const spec of specs) {
    for (const [name, amount] of asked(spec)) total.set(name, (total.get(name) ?? 0) + amount);
  }
  return total;
}

/** Containers, and sidecars beside them; or one init container with the sidecars before it, where that is more. */
function asked({ containers, initContainers = [] }: PodSpec): Taken {
  const sidecars = initContainers.filter(({ restartPolicy }) => restartPolicy === 'Always');
  const running = sumOf([...containers, ...sidecars].map(({ resources }) => resources));
  for (const [at, init] of initContainers.entries()) {
    const before = initContainers.slice(0, at).filter(({ restartPolicy }) => restartPolicy === 'Always');
    const starting = sumOf([...before, init].map(({ resources }) => resources));
    for (const [name, amount] of starting) running.set(name, Math.max(running.get(name) ?? 0, amount));
  }
  return running.set('pods', 1);
}

interface Asked {
  readonly requests?: ResourceList;
  readonly limits?: ResourceList;
}

function sumOf(lists: ReadonlyArray<Asked | undefined>): Taken {
  const sum: Taken = new Map();
  for (const { requests = {}, limits = {} } of lists.map((list) => list ?? {})) {
    for (const [name, quantity] of Object.entries({ ...limits, ...requests })) {
      sum.set(name, (sum.get(name) ?? 0) + amountOf(quantity));
    }
  }
  return sum;
}

/** The host ports of the pod. */
export function hostPortsOf({ containers }: PodSpec): ReadonlyArray<number> {
  return containers.flatMap(({ ports = [] }) => ports.flatMap(({ hostPort }) => hostPort ?? []));
}
