import type { Progress } from './display.ts';

/** Where everything is. */
export interface Places {
  readonly kubeconfigPath: string;
  readonly functionsUrl: string;
  /** The port that was wished for and is in use; null when it could be had. */
  readonly portInUse: number | null;
  /** True when keys are read, which whoever shows the hints tells. */
  readonly hasKeys: boolean;
  /** The Deployment that `npm start -- scale N` changes; null: there is none. */
  readonly deployment: string | null;
}

/** How to talk to the sandbox, the most useful last; none wider than 80 columns unless a path or a name is long. */
export function renderHints(places: Places): ReadonlyArray<string> {
  const { kubeconfigPath, functionsUrl, portInUse, hasKeys, deployment } = places;
  const where = portInUse === null ? '' : ` (port ${portInUse} is in use)`;
  const scale = deployment === null ? '' : `   kubectl scale deployment ${deployment} --replicas=20`;
  const without = 'Without kubectl, in another terminal: ';
  const scaleHere = deployment === null ? [] : [`${without}npm start -- scale 20`];
  return [
    `kubectl get nodeclaims,nodes${scale}`,
    ...scaleHere,
    `${deployment === null ? without : ' '.repeat(without.length)}npm start -- evict [NODE]`,
    `Functions host: ${functionsUrl}${where}`,
    `export KUBECONFIG=${kubeconfigPath}`,
    ...(hasKeys ? [] : ['Ctrl-C ends it.']),
  ];
}

const D: Readonly<Record<Progress['disruption'], string>> = {
  on: 'd keep all nodes, ',
  paused: 'd consolidate, ',
  off: '',
};

/** What keys do, in 80 columns. `disruption`: what the key d would change. */
export function keysHint(disruption: Progress['disruption']): string {
  return `Keys: e evict, + - ten pods, ${D[disruption]}\u2191 \u2193 nodes, PgUp PgDn news, q quit`;
}
