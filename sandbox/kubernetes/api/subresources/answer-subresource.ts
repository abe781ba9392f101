import type { ResourceCall } from '../request/resource-call.ts';
import { type ApiReply, jsonReply, textReply } from '../request/api-reply.ts';
import { parseBody } from '../request/api-request.ts';
import { toWriteOptions } from '../request/write-options.ts';
import { objectAt } from '../json.ts';
import { readObject, updateObject } from '../objects/update-object.ts';
import { presentObject } from '../wire/object-text.ts';
import { patchObject } from '../verbs/patch-object.ts';
import { showObject } from '../verbs/show-object.ts';
import { methodNotAllowed } from '../status-error.ts';
import { answerBinding } from './binding.ts';
import { answerEviction } from './eviction.ts';
import { answerPodProxy } from './pod-proxy.ts';
import { answerScale } from './scale.ts';
import { answerToken } from './token.ts';

/** Subresources that are the object itself under narrower rules: ephemeral containers, resize, approval. */
function answerObjectPart(call: ResourceCall): ApiReply {
  const { state, route, request } = call;
  const target = { ...route };
  if (request.method === 'GET') return showObject(call, 200, readObject(state, target));
  const options = toWriteOptions(request);
  if (request.method === 'PATCH') {
    return showObject(call, 200, patchObject(state, target, request, options).object, options.warnings);
  }
  if (request.method !== 'PUT') throw methodNotAllowed();
  return showObject(call, 200, updateObject(state, target, parseBody(request), options), options.warnings);
}

/** PUT of a namespace with its finalizers changed; removes it when none is left. */
function answerFinalize({ state, route, request }: ResourceCall): ApiReply {
  if (request.method !== 'PUT') throw methodNotAllowed();
  const current = readObject(state, route);
  const body = parseBody(request);
  const spec = objectAt(body, 'spec');
  const next = { ...current, spec };
  const key = `/${route.name}`;
  const stored = state.store.put(route.resource.storage, key, next);
  const finalizers = spec['finalizers'];
  const isFree = !Array.isArray(finalizers) || finalizers.length === 0;
  if (isFree && objectAt(current, 'metadata')['deletionTimestamp'] !== undefined) {
    state.store.remove(route.resource.storage, key);
  }
  return jsonReply(200, presentObject(stored.object, route.resource));
}

function answerLog({ state, route }: ResourceCall): ApiReply {
  readObject(state, route);
  return textReply(200, '');
}

/** Only pods have ends here; a Service or a Node stands for nothing that listens. */
function answerProxy(call: ResourceCall): ApiReply {
  if (call.route.resource.storage !== 'pods.') throw methodNotAllowed();
  return answerPodProxy(call);
}

const answers: Readonly<Record<string, (call: ResourceCall) => ApiReply>> = {
  binding: answerBinding,
  eviction: answerEviction,
  scale: answerScale,
  token: answerToken,
  finalize: answerFinalize,
  log: answerLog,
  proxy: answerProxy,
  ephemeralcontainers: answerObjectPart,
  resize: answerObjectPart,
  approval: answerObjectPart,
};

/** Answers every subresource but status; exec, attach and port-forward need a kubelet and are refused. */
export function answerSubresource(call: ResourceCall): ApiReply {
  const answer = answers[call.route.subresource];
  if (answer === undefined) throw methodNotAllowed();
  return answer(call);
}
