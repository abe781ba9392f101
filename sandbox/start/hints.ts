/** Where everything is. */
export interface Places {
  readonly kubeconfigPath: string;
  readonly functionsUrl: string;
  /** The port that was wished for and is in use; null when it could be had. */
  readonly portInUse: number | null;
  /** True when keys are read. */
  readonly hasKeys: boolean;
}

/** How to talk to the sandbox, the most useful last; none wider than 80 columns unless a path is long. */
export function renderHints({ kubeconfigPath, functionsUrl, portInUse, hasKeys }: Places): ReadonlyArray<string> {
  const where = portInUse === null ? '' : ` (port ${portInUse} is in use)`;
  return [
    `export KUBECONFIG=${kubeconfigPath}`,
    'kubectl get nodeclaims,nodes   kubectl scale deployment inflate --replicas=20',
    'Without kubectl, in another terminal: npm start -- scale 20',
    '                                      npm start -- evict [NODE]',
    `Functions host: ${functionsUrl}${where}`,
    hasKeys ? 'Keys: e evict a node, + and - ten replicas, d let unneeded nodes go, q quit' : 'Ctrl-C ends it.',
  ];
}
