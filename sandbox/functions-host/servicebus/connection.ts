import { resolveSettings, type Settings } from '../settings/settings.ts';
import type { RegisteredFunction } from '../worker/function-app.ts';

/** What a Service Bus function listens to. */
export interface QueueAddress {
  readonly connectionString: string;
  readonly queueName: string;
}

/** The connection's name when the function gives none. */
const DEFAULT_CONNECTION = 'ServiceBus';

/**
 * Where a Service Bus queue function listens, its settings resolved. Throws, naming the function and the setting, when
 * a setting is missing, when it asks for an identity (there is none on a laptop), or when the function listens to a
 * topic.
 */
export function toQueueAddress(fn: RegisteredFunction, settings: Settings): QueueAddress {
  const { queueName, connection } = fn.trigger;
  if (typeof queueName !== 'string' || queueName === '') {
    throw new Error(`Function '${fn.name}': queueName is missing. Only queues are served here, not topics.`);
  }
  const name = typeof connection === 'string' && connection !== '' ? connection : DEFAULT_CONNECTION;
  const connectionName = resolveSettings(name, settings, { functionName: fn.name, property: 'connection' });
  return {
    connectionString: findConnectionString(fn.name, connectionName, settings),
    queueName: resolveSettings(queueName, settings, { functionName: fn.name, property: 'queueName' }),
  };
}

function findConnectionString(functionName: string, connection: string, settings: Settings): string {
  // The host looks for its own prefix first.
  const value = settings.get(`AzureWebJobs${connection}`) ?? settings.get(connection);
  if (value !== null) {
    if (/^Endpoint=[^;]+;/i.test(value)) return value;
    throw new Error(`Function '${functionName}': the setting '${connection}' is no Service Bus connection string.`);
  }
  const namespaceSetting = `${connection}__fullyQualifiedNamespace`;
  if (settings.get(namespaceSetting) !== null) {
    throw new Error(
      `Function '${functionName}': '${namespaceSetting}' asks for a managed identity, which only Azure has. ` +
        `Set '${connection}' to a connection string to run here.`,
    );
  }
  throw new Error(
    `Function '${functionName}': the setting '${connection}' is not set. Set it to a Service Bus connection string, ` +
      `in the environment or under "Values" of local.settings.json (on Azure '${namespaceSetting}' works too).`,
  );
}
