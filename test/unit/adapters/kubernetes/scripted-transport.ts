import type { Answer, ApiRequest, Transport } from '../../../../shared/adapters/kubernetes/transport.ts';

/**
 * A transport that gives these answers in turn, and what it was asked. One answer too few is an error of the test's.
 */
export function scripted(...answers: ReadonlyArray<Answer>): {
  readonly transport: Transport;
  readonly asked: ReadonlyArray<ApiRequest>;
} {
  const asked: Array<ApiRequest> = [];
  const transport: Transport = (request) => {
    const answer = answers[asked.length];
    asked.push(request);
    return answer === undefined
      ? Promise.reject(new Error(`nobody expected ${request.method} ${request.path}`))
      : Promise.resolve(answer);
  };
  return { transport, asked };
}
