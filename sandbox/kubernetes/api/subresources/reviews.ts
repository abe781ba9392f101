import type { ResourceCall } from '../request/resource-call.ts';
import { type ApiReply, jsonReply } from '../request/api-reply.ts';
import { parseBody } from '../request/api-request.ts';
import { isObject, type JsonObject, objectAt } from '../json.ts';
import type { Resource } from '../registry/resources.ts';
import { apiVersionOf } from '../state.ts';
import { methodNotAllowed } from '../status-error.ts';

const everything = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] };

/** What each review answers here, where everybody may do everything. */
const statuses: Readonly<Record<string, JsonObject>> = {
  SelfSubjectAccessReview: { allowed: true },
  SubjectAccessReview: { allowed: true },
  LocalSubjectAccessReview: { allowed: true },
  SelfSubjectRulesReview: {
    resourceRules: [everything],
    nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
    incomplete: false,
  },
  SelfSubjectReview: { userInfo: { username: 'admin', groups: ['system:masters', 'system:authenticated'] } },
  TokenReview: { authenticated: true, user: { username: 'admin', groups: ['system:masters', 'system:authenticated'] } },
};

/** True for resources that are asked and never stored. */
export function isReview(resource: Resource): boolean {
  return Object.hasOwn(statuses, resource.kind);
}

/** Answers an authentication or authorization review: everything is allowed. */
export function answerReview({ route, request }: ResourceCall): ApiReply {
  if (request.method !== 'POST') throw methodNotAllowed();
  const { resource } = route;
  const body = parseBody(request);
  return jsonReply(201, {
    kind: resource.kind,
    apiVersion: apiVersionOf(resource),
    metadata: objectAt(body, 'metadata'),
    spec: isObject(body) ? (body['spec'] ?? {}) : {},
    status: statuses[resource.kind] ?? {},
  });
}
