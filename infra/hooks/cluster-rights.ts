import type { Ask } from './az.ts';
import { explainRefusal } from './explain-refusal.ts';

/**
 * What somebody may do at one scope: Azure's own list. Data actions are those of Kubernetes, where Azure decides about
 * it.
 */
export interface Permission {
  readonly actions: ReadonlyArray<string>;
  readonly notActions: ReadonlyArray<string>;
  readonly dataActions?: ReadonlyArray<string>;
  readonly notDataActions?: ReadonlyArray<string>;
}

/** What whoever deploys may do in the cluster itself. */
export type InCluster =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'lacking'; readonly what: ReadonlyArray<string> }
  /** Azure or the cluster did not run the command that asks. */
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'unasked'; readonly why: string };

/** What Helm needs to install the chart: as kubectl asks for it, and as Azure calls it. */
const NEEDED: ReadonlyArray<readonly [question: string, dataAction: string]> = [
  ['create namespaces', 'namespaces/write'],
  ['create secrets --namespace NAMESPACE', 'secrets/write'],
  ['create customresourcedefinitions', 'apiextensions.k8s.io/customresourcedefinitions/write'],
  ['create validatingadmissionpolicies', 'admissionregistration.k8s.io/validatingadmissionpolicies/write'],
  ['create clusterrolebindings', 'rbac.authorization.k8s.io/clusterrolebindings/write'],
  ['escalate clusterroles', 'rbac.authorization.k8s.io/clusterroles/escalate/action'],
];

/** Whether Azure's roles give all of it. Kubernetes' own may do so too: that only the cluster can say. */
export function azureAllows(permissions: ReadonlyArray<Permission>): boolean {
  return NEEDED.every(([, action]) => {
    const name = `Microsoft.ContainerService/managedClusters/${action}`;
    return permissions.some(
      ({ dataActions = [], notDataActions = [] }) =>
        dataActions.some((pattern) => covers(pattern, name)) &&
        !notDataActions.some((pattern) => covers(pattern, name)),
    );
  });
}

/** Azure's rule: an action that one of the permissions allows and does not take back. */
export function allow(permissions: ReadonlyArray<Permission>, wanted: ReadonlyArray<string>): boolean {
  return wanted.every((action) =>
    permissions.some(
      ({ actions, notActions }) =>
        actions.some((pattern) => covers(pattern, action)) && !notActions.some((pattern) => covers(pattern, action)),
    ),
  );
}

/** Asks the cluster, by the way that Helm will take: a command that Azure runs there as whoever is logged in. */
export function askCluster(ask: Ask, place: ReadonlyArray<string>, namespace: string): InCluster {
  const asked = NEEDED.map(([question]) => question.replace('NAMESPACE', namespace));
  const command = asked.map((question) => `kubectl auth can-i ${question}`).join('; ');
  const answer = ask(['aks', 'command', 'invoke', ...place, '--command', command]);
  if (answer.kind !== 'answer') return { kind: 'refused', why: explainRefusal('run a command in the cluster', answer) };
  const { logs } = (answer.value ?? {}) as { readonly logs?: string };
  const said = (logs ?? '').split('\n').flatMap((line) => /^(yes|no)\b/.exec(line.trim())?.[1] ?? []);
  if (said.length !== NEEDED.length) {
    return {
      kind: 'refused',
      why: `the command that Azure runs in the cluster answered ${JSON.stringify(logs ?? '')}`,
    };
  }
  const lacking = asked.flatMap((question, index) => (said[index] === 'yes' ? [] : [question]));
  return lacking.length === 0 ? { kind: 'allowed' } : { kind: 'lacking', what: lacking };
}

/** Azure's patterns: a star stands for anything, and letters' case does not count. */
function covers(pattern: string, action: string): boolean {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[.\\/()+?^$|[\]{}]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 'i').test(action);
}
