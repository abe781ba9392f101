/**
 * Of a webhook: Gatekeeper, which Azure Policy for AKS is, Kyverno and others. Source: apiserver v0.36.3,
 * webhook/errors/statuserror.go.
 */
const WEBHOOK = /^admission webhook "([^"]+)" denied the request/;

/** Of a policy in the cluster. Source: apiserver v0.36.3, plugin/policy/validating/dispatcher.go. */
const IN_CLUSTER = /is forbidden: ValidatingAdmissionPolicy '([^']+)'(?: with binding '[^']+')? denied request/;

/**
 * Of an authorizer, for a resource and for another path. Source: apiserver v0.36.3, handlers/responsewriters/errors.go.
 */
const RIGHT = /(?:^| is )forbidden: User "[^"]*" cannot /;

/**
 * Of admission that has not read its policies yet. Source: apiserver v0.36.3,
 * admission/plugin/policy/generic/plugin.go.
 */
const NOT_READY = /forbidden: not yet ready to handle request$/;

/**
 * Who denies a request, as the API server's message says it: a webhook or a policy in the cluster; null where neither
 * does.
 */
export function policyIn(message: string): string | null {
  const [, webhook] = WEBHOOK.exec(message) ?? [];
  if (webhook !== undefined) return `admission webhook '${webhook}'`;
  const [, policy] = IN_CLUSTER.exec(message) ?? [];
  return policy === undefined ? null : `ValidatingAdmissionPolicy '${policy}'`;
}

/** Does the message say that we have no right to do this to any object of its kind? */
export function isMissingRight(message: string): boolean {
  return RIGHT.test(message);
}

/** Does it say that the API server has just started, and knows no policy yet? It passes within seconds. */
export function isNotReadyYet(message: string): boolean {
  return NOT_READY.test(message);
}
