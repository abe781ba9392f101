import type { FunctionApp, RegisteredFunction } from './worker/function-app.ts';

/**
 * Event Grid's triggers are webhooks, and count as HTTP (FunctionGroups.cs and BindingMetadataExtensions.cs of the
 * host, 2024-10).
 */
const WEB_TRIGGERS: ReadonlySet<string> = new Set(['httptrigger', 'eventgridtrigger']);

/**
 * The group of a function: on Flex Consumption an instance serves one group, `http` or that of a single function,
 * `function:NAME`.
 */
export function groupOf({ name, trigger }: RegisteredFunction): string {
  return WEB_TRIGGERS.has(trigger.type.toLowerCase()) ? 'http' : `function:${name}`;
}

/** Throws, naming the groups there are, when no function of the app is in `group`; null is all of them. */
export function refuseUnknownGroup({ functions }: FunctionApp, group: string | null): void {
  const groups = [...new Set(functions.map(groupOf))];
  if (group === null || groups.includes(group)) return;
  throw new Error(`The app has no function of the group '${group}'; its groups are ${groups.join(', ')}.`);
}
