import { type Answers, regionName } from './answers.ts';
import { type Check, finding } from './finding.ts';

/** By which ways the functions reach the API server, their storage and their queues. */
export const networkChecks: ReadonlyArray<Check> = [
  ({ cluster: { properties }, wishes }) =>
    finding(
      'private-cluster',
      properties.apiServerAccessProfile?.enablePrivateCluster !== true || wishes.functionsSubnetId !== '',
      {
        good: 'the functions reach the API server',
        bad: 'the cluster is private: the functions reach its API server only from inside the network',
        mend: 'azd env set NODEWRIGHT_FUNCTIONS_SUBNET_ID SUBNET_ID, of a subnet that is delegated to Microsoft.App/environments',
      },
    ),
  ({ wishes }) =>
    finding('private-endpoints', wishes.privateEndpointSubnetId === '' || wishes.functionsSubnetId !== '', {
      good: 'the functions reach their storage and their queues',
      bad: 'storage and queues are to have private endpoints, and the functions no subnet to reach them from',
      mend: 'azd env set NODEWRIGHT_FUNCTIONS_SUBNET_ID SUBNET_ID, of a subnet that is delegated to Microsoft.App/environments',
    }),
  ({ cluster: { properties }, wishes: { functionsSubnetId } }) =>
    finding('authorized-ip-ranges', (properties.apiServerAccessProfile?.authorizedIPRanges ?? []).length === 0, {
      good: 'the API server does not choose by address',
      bad: 'the API server lets in some addresses only, and those of the functions change',
      mend: 'let the functions out through a subnet with a NAT gateway (azd env set NODEWRIGHT_FUNCTIONS_SUBNET_ID SUBNET_ID), and add its address: az aks update --api-server-authorized-ip-ranges',
      // With a subnet it may have been done: nobody can see from here by which address the app goes out.
      verdict: functionsSubnetId === '' ? 'failed' : 'warning',
    }),
  (answers) => {
    const fault = subnetFault(answers);
    return finding('functions-subnet', fault === null, {
      good:
        answers.wishes.functionsSubnetId === '' ? 'the functions use no subnet' : 'the functions can use their subnet',
      bad: fault?.says ?? '',
      mend: fault?.mend ?? '',
    });
  },
  ({ registrations, wishes }) =>
    finding('network-provider', wishes.functionsSubnetId === '' || registrations.app === 'Registered', {
      good: 'networks of the app need nothing',
      bad: 'Microsoft.App is not registered in the subscription, and the app is to have a subnet',
      mend: 'az provider register --namespace Microsoft.App --wait',
    }),
];

/** Azure's plan needs so many addresses: 32. */
const PREFIX_LENGTH_MAX = 27;
const DELEGATED_TO = 'Microsoft.App/environments';

/**
 * What is wrong with the subnet of the functions; null: nothing, or it is in another subscription, which is not looked
 * at.
 */
function subnetFault({ wishes, networks, cluster }: Answers): { readonly says: string; readonly mend: string } | null {
  const id = wishes.functionsSubnetId;
  const subscription = cluster.id.split('/').slice(0, 3).join('/').toLowerCase();
  if (!id.toLowerCase().startsWith(`${subscription}/`)) {
    return id === '' || /^\/subscriptions\/[^/]+\/.+\/subnets\/[^/]+$/i.test(id)
      ? null
      : { says: `NODEWRIGHT_FUNCTIONS_SUBNET_ID is no subnet’s id: ${id}`, mend: NAME_IT };
  }
  const network = networks.find((one) => id.toLowerCase().startsWith(`${one.id.toLowerCase()}/`));
  const subnet = network?.subnets.find((one) => one.id.toLowerCase() === id.toLowerCase());
  if (network === undefined || subnet === undefined) return { says: `there is no subnet ${id}`, mend: NAME_IT };
  const region = regionName(wishes.location === '' ? cluster.location : wishes.location);
  if (!subnet.delegations.some((one) => one.toLowerCase() === DELEGATED_TO.toLowerCase())) {
    return {
      says: `the subnet of the functions is not delegated to ${DELEGATED_TO}`,
      mend: `az network vnet subnet update --ids ${id} --delegations ${DELEGATED_TO}`,
    };
  }
  if (subnet.prefixLength > PREFIX_LENGTH_MAX) {
    return {
      says: `the subnet of the functions is a /${subnet.prefixLength}, and they need a /${PREFIX_LENGTH_MAX} or larger`,
      mend: `make a larger one, and ${NAME_IT}`,
    };
  }
  return regionName(network.location) === region
    ? null
    : {
        says: `the subnet of the functions is in ${network.location}, and they are to run in ${region}`,
        mend: `azd env set AZURE_LOCATION ${regionName(network.location)}, or ${NAME_IT}`,
      };
}

const NAME_IT =
  'azd env set NODEWRIGHT_FUNCTIONS_SUBNET_ID "$(az network vnet subnet show --resource-group GROUP --vnet-name NETWORK --name SUBNET --query id --output tsv)"';
