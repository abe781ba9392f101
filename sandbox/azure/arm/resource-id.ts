/** Where a resource lives, taken apart from its ARM id. */
export interface ResourceId {
  readonly subscription: string;
  readonly group: string;
  /** `Microsoft.Network/networkInterfaces`, in the letters of the id. */
  readonly type: string;
  readonly name: string;
}

const shape = /^\/subscriptions\/([^/]+)\/resourceGroups\/([^/]+)\/providers\/([^/]+\/[^/]+)\/([^/]+)$/i;

/** Takes an id apart; null when the text is not the id of a top-level resource in a resource group. */
export function parseResourceId(text: string): ResourceId | null {
  const [, subscription, group, type, name] = shape.exec(text) ?? [];
  if (subscription === undefined || group === undefined || type === undefined || name === undefined) return null;
  return { subscription, group, type, name };
}

/** The id of a resource, in the letters that ARM answers with. */
export function renderResourceId({ subscription, group, type, name }: ResourceId): string {
  return `/subscriptions/${subscription}/resourceGroups/${group}/providers/${type}/${name}`;
}
