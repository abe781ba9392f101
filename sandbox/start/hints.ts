/** Where everything is. */
export interface Places {
  readonly kubeconfigPath: string;
  readonly functionsUrl: string;
  /** The port that was wished for and is in use; null when it could be had. */
  readonly portInUse: number | null;
  /** True when keys are read. */
  readonly hasKeys: boolean;
}

/** How to talk to the sandbox, one line each, none wider than 80 columns unless a path is long. */
export function renderHints({ kubeconfigPath, functionsUrl, portInUse, hasKeys }: Places): ReadonlyArray<string> {
  const where = portInUse === null ? '' : ` (port ${portInUse} is in use)`;
  return [
    `export KUBECONFIG=${kubeconfigPath}    # then: kubectl get nodeclaims`,
    `kubectl scale deployment inflate --replicas=20    or: npm start -- scale 20`,
    `npm start -- evict [NODE]    Azure takes a node back; its replacement comes first`,
    `Functions: ${functionsUrl}${where}`,
    hasKeys ? 'Keys: e evict a node, + and - ten replicas more or less, q quit' : 'Ctrl-C ends it.',
  ];
}
