import { misfitsOf, type Answer } from './answers.ts';

/** The part of an Azure SDK client that is watched. */
interface Watched {
  readonly pipeline: {
    addPolicy(
      policy: {
        readonly name: string;
        sendRequest<
          Request extends { readonly method: string; readonly url: string; body?: unknown },
          Reply extends { readonly status: number; readonly bodyAsText?: string | null },
        >(
          request: Request,
          next: (request: Request) => Promise<Reply>,
        ): Promise<Reply>;
      },
      options: { readonly phase: 'Sign' },
    ): void;
  };
}

/** What went to the double and what came back. */
export interface Exchange extends Answer {
  /** The JSON that was sent; empty for none. */
  readonly sent: string;
}

/**
 * Lets every answer to a client be held against the property trees: one that does not fit fails the call. `seen` is
 * told of each, and `alter` may change what goes out.
 */
export function watchAnswers<Client extends Watched>(
  client: Client,
  seen: (exchange: Exchange) => void = () => {},
  alter: (sent: string) => string = (sent) => sent,
): Client {
  client.pipeline.addPolicy(
    {
      name: 'watchAnswers',
      sendRequest: async (request, next) => {
        const sent = typeof request.body === 'string' ? alter(request.body) : '';
        if (sent !== '') request.body = sent;
        const reply = await next(request);
        const { method, url } = request;
        const exchange = { method, url, sent, status: reply.status, text: reply.bodyAsText ?? '' };
        seen(exchange);
        const misfits = misfitsOf(exchange);
        if (misfits.length > 0) throw new Error(`The double answers what Azure would not:\n${misfits.join('\n')}`);
        return reply;
      },
    },
    { phase: 'Sign' },
  );
  return client;
}
