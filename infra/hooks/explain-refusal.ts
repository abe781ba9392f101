import type { AzAnswer } from './az.ts';

/** One sentence that says what is wrong and how to mend it. `doing` completes "cannot …". */
export function explainRefusal(doing: string, answer: Exclude<AzAnswer, { readonly kind: 'answer' }>): string {
  if (answer.kind === 'missing') {
    return 'the Azure CLI is not installed, or not on the PATH: install az, then run az login';
  }
  const { message } = answer;
  const known = EXPLANATIONS.find(([pattern]) => pattern.test(message));
  if (known !== undefined) return `cannot ${doing}: ${known[1](message, doing)}`;
  return `cannot ${doing}: az says "${saidBy(message)}"; run the same with az --debug to see more`;
}

/** More than this is a page. */
const SAID_LENGTH = 300;

/**
 * What Azure said, without what az wraps around it: the words of the status and JSON, or the name of a class in Python.
 */
function saidBy(message: string): string {
  const [, ofRest, ofDeployments] = /\((\{[^]*\})\)|^ERROR: (\{.*\})$/m.exec(message) ?? [];
  const { code, message: words } = errorIn(ofRest ?? ofDeployments ?? '{}');
  const said =
    code === undefined
      ? tellingLine(message).replace(/^(?:ERROR: )?(?:azure\.[\w.]+: )?\((\w+)\) /, '$1: ')
      : `${code}: ${words ?? ''}`;
  return said.slice(0, SAID_LENGTH);
}

interface Said {
  readonly code?: string;
  readonly message?: string;
}

function errorIn(json: string): Said {
  try {
    const said = JSON.parse(json) as Said & { readonly error?: Said };
    return said.error ?? said;
  } catch {
    return {};
  }
}

/**
 * The line that says what happened: the first, but where Python's words for a crash come first, the last of those,
 * which is the error itself.
 */
function tellingLine(message: string): string {
  const lines = message.split('\n').filter((line) => line.trim() !== '');
  const trace = lines.findIndex((line) => line.startsWith('Traceback '));
  const error = trace === -1 ? undefined : lines.slice(trace).find((line) => /^[\w.]+(:|$)/.test(line));
  return error ?? lines[0] ?? '';
}

/** What Azure and az write, most telling first: a wrong tenant also says to log in. */
const EXPLANATIONS: ReadonlyArray<readonly [pattern: RegExp, explain: (message: string, doing: string) => string]> = [
  [
    /InvalidAuthenticationTokenTenant|wrong issuer/i,
    (message) => {
      const tenants = [...message.matchAll(/sts\.windows\.net\/([0-9a-f-]{36})/gi)].map(([, tenant = '']) => tenant);
      return `the subscription is another tenant's: run az login --tenant ${tenants[1] ?? 'TENANT'}`;
    },
  ],
  [/az login|AADSTS|refresh token/i, () => 'az is not logged in, or its login has expired: run az login'],
  [
    /SubscriptionNotFound|InvalidSubscriptionId|doesn't exist in cloud/i,
    () =>
      'your login does not see the subscription: run az login with an account that does, and az account list to see which it has',
  ],
  [
    /AuthorizationFailed|LinkedAuthorizationFailed|Forbidden/i,
    (message) => {
      const [, action] = /perform action '([^']+)'/.exec(message) ?? [];
      const [, scope] = /over scope '([^']+)'/.exec(message) ?? [];
      const what = action === undefined ? 'the right is missing' : `the right ${action} is missing`;
      return `${what}: ask an owner for the role Owner${scope === undefined ? '' : ` on ${scope}`}`;
    },
  ],
  [
    /ResourceGroupNotFound/i,
    () => 'there is no such resource group: run az aks list --query [].id to see the existing clusters',
  ],
  [
    /ResourceNotFound|was not found|NotFound/i,
    (message, doing) =>
      // What the deployment made and is gone is not mended by another cluster's id.
      /\bcluster\b/.test(doing)
        ? `there is no such resource: run az aks list --query [].id to see the existing clusters (az says "${saidBy(message)}")`
        : `there is no such resource: az says "${saidBy(message)}"`,
  ],
  [
    // The real az says no more of a command in the cluster that Azure began and could not end.
    /Operation returned an invalid status 'OK'/,
    () =>
      'Azure has begun it, and it failed there; az does not say why: see that a node of the cluster is ready for the pod that Azure runs commands in, then run it again',
  ],
  [
    // The same of a registry, whatever that has answered.
    /Could not get the requested data|Unable to authenticate using AAD or admin login/,
    (message) =>
      `the registry has refused it, and az does not say why (it says "${saidBy(message)}"): az acr check-health --name REGISTRY looks what is wrong, then run it again`,
  ],
  [
    /RemoteDisconnected|ConnectionError|Connection aborted|Connection reset|Max retries exceeded/,
    (message) => `the connection to Azure broke (az says "${saidBy(message)}"): look at the network, then run it again`,
  ],
  [
    /TooManyRequests|Too Many Requests|RequestsThrottled/i,
    (message) =>
      `Azure takes no more requests of yours for now (az says "${saidBy(message)}"): wait a minute, then run it again`,
  ],
];
