/** What of the cluster decides how the chart is installed. */
export interface InTheCluster {
  /**
   * Custom resources of the chart that are there and were not installed by it: Node Auto Provisioning's, or
   * Karpenter's.
   */
  readonly foreign: ReadonlyArray<string>;
  /** Those that are not there. */
  readonly missing: ReadonlyArray<string>;
  /** Architectures of the nodes of system pools, where the relay runs; empty: not known. */
  readonly architectures: ReadonlyArray<string>;
}

/** What kubectl is asked, in the order in which `readCluster` reads the answers. */
export const questions: ReadonlyArray<string> = [
  'kubectl get customresourcedefinitions --output name',
  'kubectl get customresourcedefinitions --selector app.kubernetes.io/part-of=nodewright --output name',
  'kubectl get nodes --selector kubernetes.azure.com/mode=system --label-columns kubernetes.io/arch --no-headers',
];

/** What Helm is asked for the values that the chart was installed with last. */
export function valuesQuestion(namespace: string): string {
  return `helm get values nodewright --namespace ${namespace} --output json`;
}

/**
 * Reads the answer to `valuesQuestion`: none where the chart is not installed. Throws an Error where Helm did not tell,
 * as values that are lost so would not come back.
 */
export function readValues(answer: string): Readonly<Record<string, unknown>> {
  // Warnings may stand before it.
  const line = answer.split('\n').find((one) => one.startsWith('{'));
  if (line !== undefined) return JSON.parse(line) as Readonly<Record<string, unknown>>;
  if (!/error/i.test(answer) || /release: not found/.test(answer)) return {};
  throw new Error(`helm does not tell the values that the chart has: ${answer.trim()}`);
}

/** Stands between the answers when all are asked at once. */
export const BETWEEN = '---';

/** `definitions`: names of the chart's files of custom resources, such as `karpenter.sh_nodepools.yaml`. */
export function readCluster(answers: ReadonlyArray<string>, definitions: ReadonlyArray<string>): InTheCluster {
  const [all = '', own = '', nodes = ''] = answers;
  const [there, ours] = [namesOf(all), namesOf(own)];
  const wanted = definitions.map((file) => file.replace(/^(.+)_(.+)\.yaml$/, '$2.$1')).toSorted();
  const architectures = nodes.split('\n').flatMap((line) => /\s(amd64|arm64)\s*$/.exec(line)?.[1] ?? []);
  return {
    foreign: wanted.filter((name) => there.has(name) && !ours.has(name)),
    missing: wanted.filter((name) => !there.has(name)),
    architectures: [...new Set(architectures)].toSorted(),
  };
}

function namesOf(answer: string): ReadonlySet<string> {
  return new Set(
    answer.split('\n').flatMap((line) => /^customresourcedefinition[\w.]*\/(\S+)/.exec(line.trim())?.[1] ?? []),
  );
}

/** What the image is built for: amd64, but where all nodes that the relay could run on are arm64. */
export function architectureOf({ architectures }: InTheCluster): string {
  return architectures.length > 0 && !architectures.includes('amd64') ? (architectures[0] ?? 'amd64') : 'amd64';
}

/** What is left to do by hand where custom resources are somebody else's. */
export function tellForeign({ foreign, missing }: InTheCluster): ReadonlyArray<string> {
  if (foreign.length === 0) return [];
  return [
    `! ${foreign.join(', ')}: somebody else keeps these custom resources, so the chart installs none (crds.install=false)`,
    ...missing.map((name) => {
      const [plural = '', ...group] = name.split('.');
      return `! ${name} does not exist: kubectl apply -f infra/chart/definitions/${group.join('.')}_${plural}.yaml`;
    }),
  ];
}
