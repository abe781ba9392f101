import type { JsonObject } from '../arm/json.ts';
import { ok, type Route } from '../arm/router.ts';
import type { Cloud } from '../state/cloud.ts';
import { TENANT } from '../state/identities.ts';
import { renderVnet } from '../state/node-resource-group.ts';
import type { Management } from './management.ts';

const SUBSCRIPTION = '/subscriptions/{subscription}';

/** What there is before anything is made: the tenant, the subscription, its providers and features, its networks. */
export function subscriptionRoutes(management: Management): ReadonlyArray<Route> {
  const { cloud } = management;
  return [
    {
      method: 'GET',
      pattern: '/tenants',
      answer: () => ok({ value: [{ id: `/tenants/${TENANT}`, tenantId: TENANT, displayName: 'Sandbox' }] }),
    },
    { method: 'GET', pattern: '/subscriptions', answer: () => ok({ value: [renderSubscription(cloud)] }) },
    { method: 'GET', pattern: SUBSCRIPTION, answer: () => ok(renderSubscription(cloud)) },
    {
      method: 'GET',
      pattern: `${SUBSCRIPTION}/providers/{namespace}`,
      answer: (_request, { namespace = '' }) => ok(renderProvider(management, namespace)),
    },
    {
      method: 'POST',
      pattern: `${SUBSCRIPTION}/providers/{namespace}/register`,
      answer: (_request, { namespace = '' }) => {
        management.registered.add(namespace.toLowerCase());
        return ok(renderProvider(management, namespace));
      },
    },
    {
      method: 'GET',
      pattern: `${SUBSCRIPTION}/providers/Microsoft.Features/providers/{namespace}/features/{feature}`,
      answer: (_request, { namespace = '', feature = '' }) =>
        ok({ name: `${namespace}/${feature}`, properties: { state: 'NotRegistered' } }),
    },
    {
      method: 'GET',
      pattern: `${SUBSCRIPTION}/providers/Microsoft.Network/virtualNetworks`,
      answer: () => ok({ value: [renderVnet(cloud)] }),
    },
    {
      method: 'GET',
      pattern: `${SUBSCRIPTION}/providers/Microsoft.EventGrid/systemTopics`,
      answer: () => ok({ value: [...management.topics.values()] }),
    },
    {
      method: 'GET',
      pattern: `${SUBSCRIPTION}/providers/Microsoft.Web/geoRegions`,
      answer: () => ok({ value: FLEX_REGIONS.map((name) => ({ name, properties: { name, orgDomain: '' } })) }),
    },
  ];
}

/** Some of the regions with Flex Consumption, as App Service names them. */
const FLEX_REGIONS = ['West Europe', 'North Europe', 'East US'];

function renderSubscription({ options: { subscriptionId } }: Cloud): JsonObject {
  return {
    id: `/subscriptions/${subscriptionId}`,
    subscriptionId,
    tenantId: TENANT,
    displayName: 'Sandbox',
    state: 'Enabled',
    authorizationSource: 'RoleBased',
    managedByTenants: [],
    subscriptionPolicies: { quotaId: 'PayAsYouGo_2014-09-01', spendingLimit: 'Off', locationPlacementId: 'Public' },
  };
}

function renderProvider({ cloud, registered }: Management, namespace: string): JsonObject {
  return {
    id: `/subscriptions/${cloud.options.subscriptionId}/providers/${namespace}`,
    namespace,
    registrationState: registered.has(namespace.toLowerCase()) ? 'Registered' : 'NotRegistered',
    registrationPolicy: 'RegistrationRequired',
    resourceTypes: [],
  };
}
