import type { Policy } from './policy.ts';

/** Refusals of Azure's are shorter. Of a longer answer, such as a page of a proxy's, nobody reads more. */
const LENGTH_MAX = 16_384;

const bodies = new WeakMap<object, string>();

/**
 * Keeps what Azure says in answers from 400 up, by the request. The clients put it into their errors for single reads
 * only: of lists they drop all of it, of operations that begin the details.
 */
export const keepFailedBodies: Policy = {
  name: 'nodewrightFailedBodies',
  sendRequest: async (request, next) => {
    // A try that gets no answer must not be told by the one before.
    bodies.delete(request);
    const response = await next(request);
    if (response.status >= 400 && typeof response.bodyAsText === 'string')
      bodies.set(request, response.bodyAsText.slice(0, LENGTH_MAX));
    return response;
  },
};

/** What Azure answered to an error's request; undefined where no answer was kept. */
export function failedBodyOf(request: object | undefined): string | undefined {
  return request === undefined ? undefined : bodies.get(request);
}
