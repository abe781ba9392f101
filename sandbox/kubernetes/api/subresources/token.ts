import type { ResourceCall } from '../request/resource-call.ts';
import { type ApiReply, jsonReply } from '../request/api-reply.ts';
import { parseBody } from '../request/api-request.ts';
import { type Json, listAt, numberAt, objectAt, textAt } from '../json.ts';
import { readObject } from '../objects/update-object.ts';
import { timestamp } from '../state.ts';
import { methodNotAllowed } from '../status-error.ts';

function segment(value: Json): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** Issues a token for a service account: an unsigned JWT, for this server takes any token. */
export function answerToken({ state, route, request }: ResourceCall): ApiReply {
  if (request.method !== 'POST') throw methodNotAllowed();
  const account = readObject(state, route);
  const body = parseBody(request);
  const seconds = numberAt(body, 3600, 'spec', 'expirationSeconds');
  const audiences = listAt(body, 'spec', 'audiences');
  const aud = audiences.length > 0 ? audiences : ['https://kubernetes.default.svc'];
  const now = Math.floor(state.clock.now() / 1000);
  const claims: Json = {
    aud,
    exp: now + seconds,
    iat: now,
    iss: 'https://kubernetes.default.svc',
    sub: `system:serviceaccount:${route.namespace}:${route.name}`,
    'kubernetes.io': {
      namespace: route.namespace,
      serviceaccount: { name: route.name, uid: textAt(account, 'metadata', 'uid') },
    },
  };
  const token = `${segment({ alg: 'none', typ: 'JWT' })}.${segment(claims)}.`;
  return jsonReply(201, {
    kind: 'TokenRequest',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: { name: route.name, namespace: route.namespace, creationTimestamp: timestamp(state.clock.now()) },
    spec: { ...objectAt(body, 'spec'), audiences: aud, expirationSeconds: seconds },
    status: { token, expirationTimestamp: timestamp((now + seconds) * 1000) },
  });
}
