import type { ResourceCall } from '../http/answer-request.ts';
import type { ApiReply } from '../http/api-reply.ts';
import { methodNotAllowed } from '../status-error.ts';

/** Answers every subresource but status. */
export function answerSubresource(_call: ResourceCall): ApiReply {
  throw methodNotAllowed();
}
