/** The part of an Azure SDK client that `useLoopback` changes. */
export interface PipelineClient {
  readonly pipeline: {
    removePolicy(options: { readonly name: string }): unknown;
    addPolicy(policy: {
      readonly name: string;
      sendRequest<Request extends { readonly headers: { set(name: string, value: string): void } }, Answer>(
        request: Request,
        next: (request: Request) => Promise<Answer>,
      ): Promise<Answer>;
    }): void;
  };
}

/**
 * Lets a real Azure client talk to the double over plain HTTP. The SDK refuses to send a bearer token without TLS; this
 * takes that policy out and sends a token that is worth nothing in its place. For loopback addresses only.
 */
export function useLoopback<Client extends PipelineClient>(client: Client): Client {
  client.pipeline.removePolicy({ name: 'bearerTokenAuthenticationPolicy' });
  client.pipeline.addPolicy({
    name: 'loopbackToken',
    sendRequest: (request, next) => {
      request.headers.set('Authorization', 'Bearer loopback');
      return next(request);
    },
  });
  return client;
}
