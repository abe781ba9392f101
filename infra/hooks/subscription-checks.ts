import { regionName } from './answers.ts';
import { allow } from './cluster-rights.ts';
import { currencies } from './currencies.ts';
import { topicsOf } from './fill-in.ts';
import { type Check, finding } from './finding.ts';
import { isImage } from './relay-commands.ts';

/** The smallest node that a pool is likely to allow. */
const CORES_MINIMUM = 2;

/** What the subscription has to have, and what whoever deploys may do. */
export const subscriptionChecks: ReadonlyArray<Check> = [
  ({ wishes, cluster, flexRegions }) => {
    const chosen = wishes.location === '' ? cluster.location : wishes.location;
    return finding('region', flexRegions.length === 0 || flexRegions.includes(regionName(chosen)), {
      good:
        flexRegions.length === 0
          ? 'az does not say which regions have Flex Consumption'
          : `${chosen} has Flex Consumption`,
      bad: `${chosen} has no Flex Consumption, the plan of the app`,
      mend: 'azd env set AZURE_LOCATION to a region that has: az functionapp list-flexconsumption-locations',
      // Nobody has chosen the cluster's own yet.
      verdict: wishes.location === '' ? 'warning' : 'failed',
    });
  },
  ({ wishes: { relayImage } }) =>
    finding('relay-image', relayImage === '' || isImage(relayImage), {
      good: relayImage === '' ? 'the relay’s image is built' : `the relay runs ${relayImage}`,
      bad: `NODEWRIGHT_RELAY_IMAGE is ${JSON.stringify(relayImage)}, which names no image`,
      mend: 'azd env set NODEWRIGHT_RELAY_IMAGE REGISTRY/nodewright-relay:TAG, or with @sha256: and 64 hexadecimal digits',
    }),
  ({ offer, wishes }) =>
    finding('registry-tasks', !offer.startsWith('FreeTrial') || wishes.relayImage !== '', {
      good: wishes.relayImage === '' ? 'the relay’s image can be built in a registry' : 'the relay’s image exists',
      bad: 'a free trial may have no tasks of Azure Container Registry, by which the relay’s image is built',
      mend: 'upgrade the subscription; or build relay/Dockerfile elsewhere, push the image, and azd env set NODEWRIGHT_RELAY_IMAGE REGISTRY/nodewright-relay:TAG',
      verdict: 'warning',
    }),
  ({ registrations, wishes }) =>
    finding('scheduled-events', !wishes.scheduledEvents || registrations.scheduledEvents === 'Registered', {
      good: wishes.scheduledEvents ? 'the preview of scheduled events is registered' : 'scheduled events are left out',
      bad: 'scheduled events are asked for, a preview that is not registered in the subscription',
      mend: 'az feature register --namespace Microsoft.Compute --name SendScheduledEventsPolicy',
    }),
  ({ wishes: { currency } }) =>
    finding('currency', currency === '' || currencies.some((one) => one === currency), {
      good: `prices are in ${currency === '' ? 'USD' : currency}`,
      bad: `NODEWRIGHT_CURRENCY is ${JSON.stringify(currency)}, in which Azure has no prices`,
      mend: `azd env set NODEWRIGHT_CURRENCY to one of ${currencies.join(', ')}`,
    }),
  (answers) => {
    const without = Object.values(topicsOf(answers)).filter((topic) => topic !== null && !topic.hasIdentity);
    return finding('event-grid-topics', without.length === 0, {
      good: 'Event Grid topics that are there can be used',
      bad: `Azure allows one Event Grid topic for each source, and ${without.map((topic) => topic?.id).join(', ')} has no identity to deliver with`,
      mend: 'az eventgrid system-topic update --ids TOPIC --identity SystemAssigned',
    });
  },
  ({ permissions }) =>
    finding('rights', allow(permissions.onMachines, ROLE_ACTIONS) && allow(permissions.onSubscription, ROLE_ACTIONS), {
      good: 'you may give the functions their rights',
      bad: 'you may not define and assign roles on the subscription and on the node resource group',
      mend: 'ask an owner for the role Owner, or for Contributor with User Access Administrator, on the subscription',
    }),
  ({ quotas, cluster: { location } }) => {
    const left = ['cores', 'lowPriorityCores'].flatMap((wanted) =>
      quotas.filter(({ name }) => name.toLowerCase() === wanted.toLowerCase()).map(({ limit, used }) => limit - used),
    );
    return finding('quota', left.length === 0 || Math.max(...left) >= CORES_MINIMUM, {
      good: `${left.length === 0 ? 'unknown' : Math.max(...left)} cores are left in ${location}`,
      bad: `no quota is left in ${location}: ${left.join(' cores on demand and ')} of spot VMs`,
      mend: `raise "Total Regional vCPUs" of ${location}: portal, Quotas, Compute`,
    });
  },
];

/** What the deployment does outside its own resource group. */
const ROLE_ACTIONS = ['Microsoft.Authorization/roleAssignments/write', 'Microsoft.Authorization/roleDefinitions/write'];
