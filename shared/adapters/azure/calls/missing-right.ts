const DENIED = /does not have (?:authorization|permission)[^']*action(?:\(s\))? '([^']+)'[^']*'([^']+)'/i;

/**
 * A refusal because a permission is missing, with what to grant where told first: Azure's words begin with ids and are
 * cut at the end.
 */
export function nameMissingRight(message: string): string {
  const [, action, scope] = DENIED.exec(message) ?? [];
  return action === undefined ? message : `the app's identity lacks the right ${action} on ${scope}. ${message}`;
}
