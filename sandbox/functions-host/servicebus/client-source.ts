import { ServiceBusClient } from '@azure/service-bus';

/** The client of one listener, which can be replaced when it no longer answers. */
export interface ClientSource {
  /** What the client grants the service for one answer. */
  readonly tryTimeoutMs: number;
  current(): ServiceBusClient;
  /** Makes a new client, unless `broken` has been replaced already. What still runs on it goes on. */
  replace(broken: ServiceBusClient): void;
  /** Closes every client there was. */
  close(): Promise<void>;
}

/**
 * An accept waits this long on the service for a session. Azure's default is a minute; a lost connection shows sooner
 * so.
 */
const TRY_TIMEOUT_MS = 10_000;

/** The .NET client tries again after 0.8 s and then ever later; the JavaScript client, unless told, every 30 s. */
const RETRY_DELAY_MS = 1_000;

/** Clients are cheap until they connect, which they do at their first call. */
export function openClientSource(connectionString: string): ClientSource {
  const make = (): ServiceBusClient =>
    new ServiceBusClient(connectionString, {
      retryOptions: { timeoutInMs: TRY_TIMEOUT_MS, retryDelayInMs: RETRY_DELAY_MS },
    });
  const clients = [make()];
  const current = (): ServiceBusClient => clients.at(-1) ?? make();
  return {
    tryTimeoutMs: TRY_TIMEOUT_MS,
    current,
    replace: (broken) => {
      if (broken === current()) clients.push(make());
    },
    close: async () => {
      await Promise.allSettled(clients.map((client) => client.close()));
    },
  };
}
