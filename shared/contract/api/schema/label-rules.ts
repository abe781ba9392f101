import {
  closedLabelDomains,
  isAllowedInDomain,
  labelKeyMeant,
  refusedLabels,
  type LabelDomain,
} from '../../../kubernetes/pool-labels.ts';
import { rule, type Rule } from './schema.ts';

const NODE_POOL_KEY = 'karpenter.sh/nodepool';
const CHOOSE_KEY = 'use a well-known key, or a key in a domain of your own';

function domainCel(subject: string, domain: string, allowed: ReadonlyArray<string>): string {
  const keys = allowed.map((key) => `"${key}"`).join(', ');
  return `${subject} in [${keys}] || !${subject}.find("^([^/]+)").endsWith("${domain}")`;
}

const nodePoolKeyMessage = `label "${NODE_POOL_KEY}" is restricted`;
const nodePoolKeyFix = 'remove it; the pool puts its own name there';

/**
 * Rules on the key of a requirement. Only a pool may not name `karpenter.sh/nodepool`: it is what the key stands for.
 */
export function requirementKeyRules(isPool: boolean): ReadonlyArray<Rule> {
  return [
    ...closedLabelDomains.map((each) =>
      rule<string>(
        domainCel('self', each.domain, each.allowed),
        `label domain "${each.domain}" is restricted`,
        (key) => `${CHOOSE_KEY}${labelKeyMeant(key)}`,
        (key) => isAllowedInDomain(key, each),
      ),
    ),
    ...(isPool
      ? [rule<string>(`self != "${NODE_POOL_KEY}"`, nodePoolKeyMessage, nodePoolKeyFix, (key) => key !== NODE_POOL_KEY)]
      : []),
    ...refusedLabels.map((refused) =>
      rule<string>(`self != "${refused}"`, `label "${refused}" is restricted`, CHOOSE_KEY, (key) => key !== refused),
    ),
  ];
}

type Labels = Readonly<Record<string, string>>;

function keysMeant(labels: Labels, domain: LabelDomain): string {
  return labelKeyMeant(Object.keys(labels).find((key) => !isAllowedInDomain(key, domain)) ?? '');
}

/** Rules on the labels that a pool gives to its nodes. */
export const templateLabelRules: ReadonlyArray<Rule> = [
  ...closedLabelDomains.map((each) =>
    rule<Labels>(
      `self.all(x, ${domainCel('x', each.domain, each.allowed)})`,
      `label domain "${each.domain}" is restricted`,
      (labels) => `${CHOOSE_KEY}${keysMeant(labels, each)}`,
      (labels) => Object.keys(labels).every((key) => isAllowedInDomain(key, each)),
    ),
  ),
  rule<Labels>(
    `self.all(x, x != "${NODE_POOL_KEY}")`,
    nodePoolKeyMessage,
    nodePoolKeyFix,
    (labels) => !Object.hasOwn(labels, NODE_POOL_KEY),
  ),
  ...refusedLabels.map((refused) =>
    rule<Labels>(
      `self.all(x, x != "${refused}")`,
      `label "${refused}" is restricted`,
      CHOOSE_KEY,
      (labels) => !Object.hasOwn(labels, refused),
    ),
  ),
];
