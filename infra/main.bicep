targetScope = 'subscription'

metadata name = 'Nodewright'
metadata description = 'Nodes for one AKS cluster: what decides, what it listens to, and what it may do. One deployment for each cluster.'

// What has to be said.

@description('Names the deployment, and is part of the names of what it makes. azd\'s name of the environment.')
@minLength(1)
@maxLength(64)
param environmentName string

@description('Region of what is made here; the cluster\'s own is best. It must have the Flex Consumption plan.')
@metadata({
  azd: {
    type: 'location'
  }
})
param location string

@description('Resource id of the AKS cluster, which is in the subscription that is deployed to.')
@minLength(1)
param clusterResourceId string

@description('Resource id of the subnet for new nodes: that of the cluster\'s first node pool.')
@minLength(1)
param nodeSubnetResourceId string

@description('Further subnets that AKSNodeClasses name as vnetSubnetID, by resource id. The functions get the right to put nodes into them. Add new ones at the end: rights are named by their place.')
param additionalNodeSubnetResourceIds string[] = []

@description('Azure\'s GUID of that subnet\'s virtual network. Needed for a network of your own, with pods in an overlay; else the app reads it.')
param virtualNetworkGuid string = ''

@description('The public SSH key of nodes, one line that begins with ssh-rsa or ssh-ed25519. Empty: the cluster\'s. Needed where the cluster was made without one, as az makes them today: Azure makes no Linux VM without.')
param sshPublicKey string = ''

// Names and tags.

@description('The resource group that is made. Empty: rg-nodewright-ENVIRONMENT.')
param resourceGroupName string = ''

@sealed()
@description('Names of your own in place of those that are made up.')
param resourceNames {
  functionApp: string?
  plan: string?
  functionsIdentity: string?
  relayIdentity: string?
  serviceBus: string?
  hostStorage: string?
  dataStorage: string?
  applicationInsights: string?
  workspace: string?
  registry: string?
  healthTopic: string?
  maintenanceTopic: string?
  deletionTopic: string?
} = {}

@description('Tags of everything that is made here.')
param tags { *: string } = {}

@description('Tags of every VM and network interface that is made for a node.')
param nodeTags { *: string } = {}

// How much.

@description('Memory of an instance of the app in MB; its processor grows with it: a quarter of a core, one, two.')
@allowed([
  512
  2048
  4096
])
param instanceMemoryMB int = 2048

@description('Instances of the app at most.')
@minValue(40)
@maxValue(1000)
param maximumInstanceCount int = 100

@description('Functions that have an instance waiting: the one that plans, and launches the first nodes after a quiet time, and the one that hears of evictions. `http` is the group of those that are called over HTTP. Others wake when they have work, while a VM boots.')
param alwaysReadyFunctions string[] = [
  'provision'
  'interrupt'
]

@description('The app\'s instances are spread over zones. Twice as many wait then.')
param zoneRedundant bool = false

@description('How often data is kept, and where.')
@allowed([
  'Standard_LRS'
  'Standard_ZRS'
  'Standard_GRS'
  'Standard_GZRS'
])
param storageSku string = 'Standard_LRS'

@description('Premium costs some seventy times as much. Private endpoints need it, and have it whatever this says.')
@allowed([
  'Standard'
  'Premium'
])
param serviceBusSku string = 'Standard'

@description('Messaging units, of Premium only.')
@allowed([
  1
  2
  4
  8
  16
])
param serviceBusCapacity int = 1

@description('Instances follow the length of the queues, which Azure shows to owners of a queue only. Off: the app may only send and receive, and grows slowly.')
param scaleByQueueLength bool = true

@description('Days until a decision record is removed.')
@minValue(7)
@maxValue(3650)
param decisionRetentionDays int = 180

@description('Days until the snapshot of a cluster is removed that no longer sends any.')
@minValue(7)
@maxValue(3650)
param snapshotRetentionDays int = 90

// What Azure tells of machines.

@description('Azure\'s own events of machines, through Event Grid. Off, where a policy or somebody else\'s topic forbids them: the relay hears of evictions from the nodes themselves, and the sweep finds machines that are gone.')
param azureEvents bool = true

@description('Scheduled events through Event Grid: a preview of Azure\'s, with a feature to be registered.')
param scheduledEvents bool = false

@description('The subscription\'s Event Grid topic of health resources, where there is one: Azure allows one. It must have a system-assigned identity.')
param existingHealthTopicResourceId string = ''

@description('The same for maintenance resources; with scheduledEvents.')
param existingMaintenanceTopicResourceId string = ''

@description('The same for the node resource group.')
param existingDeletionTopicResourceId string = ''

// Logs.

@description('A Log Analytics workspace to use. Empty: one is made.')
param existingWorkspaceResourceId string = ''

@description('Days that logs are kept, in a workspace made here.')
@minValue(30)
@maxValue(730)
param logRetentionDays int = 30

@description('Gigabytes of logs a day at most, in a workspace made here; -1: no limit.')
param logDailyQuotaGb int = -1

// What the portal shows, and when it calls.

@description('Alerts are made: on logs, dead letters and the queue poison.')
param createAlerts bool = true

@description('Resource id of the action group that alerts go to. Empty: they are shown in the portal, and tell nobody.')
param actionGroupResourceId string = ''

@description('What prices are read and shown in, of those that Azure lists prices in. Nodes are chosen as in any other.')
@allowed([
  'USD'
  'AUD'
  'BRL'
  'CAD'
  'CHF'
  'CNY'
  'DKK'
  'EUR'
  'GBP'
  'INR'
  'JPY'
  'KRW'
  'NOK'
  'NZD'
  'RUB'
  'SEK'
  'TWD'
])
param currency string = 'USD'

@description('What machines may cost in a month, in currency at list prices, before an alert says so; 0: no such alert.')
@minValue(0)
param monthlyCostAlert int = 0

@description('A budget of Azure for the machines of a month, in the currency of the bill; 0: none. It is of the subscription, and outlives the resource group.')
@minValue(0)
param monthlyBudget int = 0

@description('First day of the month that the budget begins with, such as 2027-01-01: the present month unless said. Deployed again in a later month, it must be said, as it has to stay.')
@minLength(10)
@maxLength(10)
param budgetStartDate string = utcNow('yyyy-MM-01')

// The network.

@description('The subnet that the app reaches the network through: delegated to Microsoft.App/environments, /27 or larger. A private cluster needs it. Empty: the internet.')
param functionsSubnetResourceId string = ''

@description('The subnet of private endpoints for storage and Service Bus, which are then closed to the internet. Needs functionsSubnetResourceId.')
param privateEndpointSubnetResourceId string = ''

@description('A private DNS zone for blobs. Empty: one is made where there are private endpoints.')
param existingBlobZoneResourceId string = ''

@description('A private DNS zone for the Service Bus. Empty: one is made where there are private endpoints.')
param existingServiceBusZoneResourceId string = ''

@description('Resource ids of virtual networks beside that of the private endpoints which the zones made here are linked to: the app\'s and the cluster\'s, where they are others.')
param zoneLinkedNetworkResourceIds string[] = []

// The rest.

@description('A registry for the relay\'s image is made. Off: the cluster pulls from another.')
param createRegistry bool = true

@description('The relay\'s image, where it is one of your own: kept with the deployment, so that the next one finds it. Empty: it is built, or that of a published version.')
param relayImage string = ''

@description('The namespace of the relay in the cluster, which its federated credential, the app and the chart name.')
@minLength(1)
@maxLength(63)
param relayNamespace string = 'nodewright-system'

@sealed()
@description('Settings of the app that have defaults, by their names, such as DISRUPTION or FEATURE_GATES: see docs/deploy.md.')
param settings {
  DISRUPTION: string?
  DISRUPT_SCHEDULE: string?
  FEATURE_GATES: string?
  IGNORE_DRA_REQUESTS: string?
  LINUX_ADMIN_USERNAME: string?
  MAINTENANCE_CONFIGURATION_ID: string?
  MIN_VALUES_POLICY: string?
  PREFERENCE_POLICY: string?
  RESERVE_NODES: string?
  SCHEDULER_CONFIG: string?
  SWEEP_SCHEDULE: string?
  VM_MEMORY_OVERHEAD_PERCENT: string?
} = {}

var clusterParts = split(clusterResourceId, '/')
var clusterResourceGroup = clusterParts[4]
var clusterName = last(clusterParts)
var token = uniqueString(subscription().id, environmentName, toLower(clusterResourceId))
var suffix = '${take(environmentName, 20)}-${token}'
var groupName = empty(resourceGroupName) ? 'rg-nodewright-${environmentName}' : resourceGroupName
var allTags = union(tags, {
  'azd-env-name': environmentName
  'nodewright-cluster': clusterName
})
var isPrivate = !empty(privateEndpointSubnetResourceId)

var names = {
  functionApp: resourceNames.?functionApp ?? 'func-nodewright-${token}'
  plan: resourceNames.?plan ?? 'asp-nodewright-${token}'
  functionsIdentity: resourceNames.?functionsIdentity ?? 'id-nodewright-functions-${token}'
  relayIdentity: resourceNames.?relayIdentity ?? 'id-nodewright-relay-${token}'
  serviceBus: resourceNames.?serviceBus ?? 'sbns-nodewright-${token}'
  hostStorage: resourceNames.?hostStorage ?? 'sthost${token}'
  dataStorage: resourceNames.?dataStorage ?? 'stdata${token}'
  applicationInsights: resourceNames.?applicationInsights ?? 'appi-nodewright-${token}'
  workspace: resourceNames.?workspace ?? 'log-nodewright-${token}'
  registry: resourceNames.?registry ?? 'crnodewright${token}'
  topics: {
    health: resourceNames.?healthTopic ?? 'egst-nodewright-health-${token}'
    maintenance: resourceNames.?maintenanceTopic ?? 'egst-nodewright-maintenance-${token}'
    deletions: resourceNames.?deletionTopic ?? 'egst-nodewright-deletions-${token}'
  }
}

var deploymentContainer = 'deployment'
var triggerQueues = [
  'pods'
  'claims'
  'launches'
  'signals'
]
var unreadQueues = [
  'poison'
]
var dataContainers = [
  'snapshots'
  'decisions'
  'catalog'
]

resource group 'Microsoft.Resources/resourceGroups@2024-11-01' = {
  name: groupName
  location: location
  tags: allTags
}

module facts 'modules/cluster-facts.bicep' = {
  name: 'nodewright-facts-${token}'
  scope: resourceGroup(clusterResourceGroup)
  params: {
    clusterName: clusterName
  }
}

module identities 'modules/identities.bicep' = {
  name: 'nodewright-identities'
  scope: group
  params: {
    functionsIdentityName: names.functionsIdentity
    relayIdentityName: names.relayIdentity
    location: location
    tags: allTags
    oidcIssuer: facts.outputs.oidcIssuer
    relayNamespace: relayNamespace
  }
}

module monitoring 'modules/monitoring.bicep' = {
  name: 'nodewright-monitoring'
  scope: group
  params: {
    applicationInsightsName: names.applicationInsights
    workspaceName: names.workspace
    existingWorkspaceResourceId: existingWorkspaceResourceId
    retentionDays: logRetentionDays
    dailyQuotaGb: logDailyQuotaGb
    location: location
    tags: allTags
    senderPrincipalId: identities.outputs.functionsPrincipalId
  }
}

// The host may read and write everything in its account, the deployed code too. So what the relay writes is in another.
module hostStorage 'modules/storage.bicep' = {
  name: 'nodewright-host-storage'
  scope: group
  params: {
    name: names.hostStorage
    location: location
    tags: allTags
    sku: storageSku
    containers: [
      deploymentContainer
    ]
    lifecycleRules: []
    publicNetworkAccess: !isPrivate
  }
}

module dataStorage 'modules/storage.bicep' = {
  name: 'nodewright-data-storage'
  scope: group
  params: {
    name: names.dataStorage
    location: location
    tags: allTags
    sku: storageSku
    containers: dataContainers
    lifecycleRules: [
      {
        name: 'old-decisions'
        type: 'Lifecycle'
        enabled: true
        definition: {
          filters: {
            blobTypes: [
              'blockBlob'
            ]
            prefixMatch: [
              'decisions/'
            ]
          }
          actions: {
            baseBlob: {
              delete: {
                daysAfterModificationGreaterThan: decisionRetentionDays
              }
            }
          }
        }
      }
      {
        name: 'snapshots-of-clusters-gone'
        type: 'Lifecycle'
        enabled: true
        definition: {
          filters: {
            blobTypes: [
              'blockBlob'
            ]
            prefixMatch: [
              'snapshots/'
            ]
          }
          actions: {
            baseBlob: {
              delete: {
                daysAfterModificationGreaterThan: snapshotRetentionDays
              }
            }
          }
        }
      }
    ]
    publicNetworkAccess: !isPrivate
  }
}

module serviceBus 'modules/service-bus.bicep' = {
  name: 'nodewright-service-bus'
  scope: group
  params: {
    name: names.serviceBus
    location: location
    tags: allTags
    sku: isPrivate ? 'Premium' : serviceBusSku
    capacity: serviceBusCapacity
    publicNetworkAccess: !isPrivate
  }
}

module azureAccess 'modules/access/azure-access.bicep' = {
  name: 'nodewright-access-${token}'
  params: {
    nodeResourceGroup: facts.outputs.nodeResourceGroup
    clusterResourceGroup: clusterResourceGroup
    clusterName: clusterName
    nodeSubnetResourceId: nodeSubnetResourceId
    additionalNodeSubnetResourceIds: additionalNodeSubnetResourceIds
    kubeletIdentityId: facts.outputs.kubeletIdentityId
    diskEncryptionSetResourceId: facts.outputs.diskEncryptionSetId
    suffix: suffix
    principalId: identities.outputs.functionsPrincipalId
  }
}

module hostStorageAccess 'modules/access/host-storage-role.bicep' = {
  name: 'nodewright-host-storage-access'
  scope: group
  params: {
    accountName: hostStorage.outputs.name
    principalId: identities.outputs.functionsPrincipalId
  }
}

module functionsContainers 'modules/access/container-role.bicep' = {
  name: 'nodewright-functions-containers'
  scope: group
  params: {
    accountName: dataStorage.outputs.name
    containerNames: dataContainers
    principalId: identities.outputs.functionsPrincipalId
  }
}

module functionsOwn 'modules/access/queue-role.bicep' = if (scaleByQueueLength) {
  name: 'nodewright-functions-own'
  scope: group
  params: {
    namespaceName: serviceBus.outputs.name
    queueNames: triggerQueues
    role: 'Azure Service Bus Data Owner'
    principalId: identities.outputs.functionsPrincipalId
  }
}

module functionsReceive 'modules/access/queue-role.bicep' = if (!scaleByQueueLength) {
  name: 'nodewright-functions-receive'
  scope: group
  params: {
    namespaceName: serviceBus.outputs.name
    queueNames: triggerQueues
    role: 'Azure Service Bus Data Receiver'
    principalId: identities.outputs.functionsPrincipalId
  }
}

module functionsSend 'modules/access/queue-role.bicep' = {
  name: 'nodewright-functions-send'
  scope: group
  params: {
    namespaceName: serviceBus.outputs.name
    queueNames: scaleByQueueLength ? unreadQueues : concat(triggerQueues, unreadQueues)
    role: 'Azure Service Bus Data Sender'
    principalId: identities.outputs.functionsPrincipalId
  }
}

module relaySend 'modules/access/queue-role.bicep' = {
  name: 'nodewright-relay-send'
  scope: group
  params: {
    namespaceName: serviceBus.outputs.name
    queueNames: [
      'pods'
      'claims'
      'signals'
    ]
    role: 'Azure Service Bus Data Sender'
    principalId: identities.outputs.relayPrincipalId
  }
}

module relayContainers 'modules/access/container-role.bicep' = {
  name: 'nodewright-relay-containers'
  scope: group
  params: {
    accountName: dataStorage.outputs.name
    containerNames: [
      'snapshots'
    ]
    principalId: identities.outputs.relayPrincipalId
  }
}

module signals 'modules/signals/signals.bicep' = if (azureEvents) {
  name: 'nodewright-signals'
  scope: group
  params: {
    nodeResourceGroup: facts.outputs.nodeResourceGroup
    serviceBusName: serviceBus.outputs.name
    suffix: token
    topicNames: names.topics
    tags: allTags
    existingHealthTopicResourceId: existingHealthTopicResourceId
    scheduledEvents: scheduledEvents
    existingMaintenanceTopicResourceId: existingMaintenanceTopicResourceId
    existingDeletionTopicResourceId: existingDeletionTopicResourceId
  }
}

module portal 'modules/portal.bicep' = {
  name: 'nodewright-portal'
  scope: group
  params: {
    workspaceId: monitoring.outputs.workspaceId
    applicationInsightsId: monitoring.outputs.applicationInsightsId
    serviceBusId: serviceBus.outputs.id
    actionGroupId: actionGroupResourceId
    createAlerts: createAlerts
    currency: currency
    monthlyCostAlert: monthlyCostAlert
    clusterName: clusterName
    location: location
    tags: allTags
  }
}

module budget 'modules/budget.bicep' = if (monthlyBudget > 0) {
  name: 'nodewright-budget-${token}'
  params: {
    name: 'nodewright-${token}'
    nodeResourceGroup: facts.outputs.nodeResourceGroup
    clusterName: clusterName
    // The module wants at least one, also where it is not deployed.
    amount: max(monthlyBudget, 1)
    startDate: budgetStartDate
    actionGroupId: actionGroupResourceId
  }
}

module privateAccess 'modules/network/private-access.bicep' = if (isPrivate) {
  name: 'nodewright-private-access'
  scope: group
  params: {
    suffix: token
    location: location
    tags: allTags
    subnetResourceId: privateEndpointSubnetResourceId
    hostStorageId: hostStorage.outputs.id
    dataStorageId: dataStorage.outputs.id
    serviceBusId: serviceBus.outputs.id
    zoneLinkedNetworkResourceIds: zoneLinkedNetworkResourceIds
    existingBlobZoneResourceId: existingBlobZoneResourceId
    existingServiceBusZoneResourceId: existingServiceBusZoneResourceId
  }
}

module registry 'modules/registry.bicep' = if (createRegistry) {
  name: 'nodewright-registry'
  scope: group
  params: {
    name: names.registry
    location: location
    tags: allTags
    pullerPrincipalId: facts.outputs.kubeletObjectId
  }
}

module functionApp 'modules/function-app.bicep' = {
  name: 'nodewright-function-app'
  scope: group
  // It starts at once, and finds no code and no queue while it may not look.
  dependsOn: [
    azureAccess
    functionsContainers
    functionsOwn
    functionsReceive
    functionsSend
    hostStorageAccess
    monitoring
    privateAccess
  ]
  params: {
    planName: names.plan
    name: names.functionApp
    location: location
    tags: allTags
    identityId: identities.outputs.functionsIdentityId
    identityClientId: identities.outputs.functionsClientId
    hostBlobEndpoint: hostStorage.outputs.blobEndpoint
    deploymentContainerName: deploymentContainer
    dataBlobEndpoint: dataStorage.outputs.blobEndpoint
    serviceBusNamespace: serviceBus.outputs.fullyQualifiedNamespace
    applicationInsightsName: names.applicationInsights
    instanceMemoryMB: instanceMemoryMB
    maximumInstanceCount: maximumInstanceCount
    alwaysReadyFunctions: alwaysReadyFunctions
    zoneRedundant: zoneRedundant
    virtualNetworkSubnetId: functionsSubnetResourceId
    clusterResourceGroup: clusterResourceGroup
    clusterName: clusterName
    nodeSubnetResourceId: nodeSubnetResourceId
    virtualNetworkGuid: virtualNetworkGuid
    sshPublicKey: sshPublicKey
    diskEncryptionSetResourceId: facts.outputs.diskEncryptionSetId
    nodeTags: nodeTags
    scheduledEvents: azureEvents && scheduledEvents
    currency: currency
    relayNamespace: relayNamespace
    settings: settings
  }
}

// Read by the hooks of azure.yaml, and by whoever deploys by hand: see docs/deploy.md.

@description('The resource group of everything that was made here.')
output AZURE_RESOURCE_GROUP string = group.name

@description('The subscription of everything.')
output AZURE_SUBSCRIPTION_ID string = subscription().subscriptionId

@description('Region of the deployment.')
output AZURE_LOCATION string = location

@description('Name of the Functions app, to which the code goes.')
output FUNCTION_APP_NAME string = functionApp.outputs.name

@description('Object id of the identity of the functions: functions.objectId of the chart.')
output FUNCTIONS_PRINCIPAL_ID string = identities.outputs.functionsPrincipalId

@description('Client id of the identity of the relay: workloadIdentity.clientId of the chart.')
output RELAY_CLIENT_ID string = identities.outputs.relayClientId

@description('The cluster\'s name, as messages and blobs carry it: settings.clusterName of the chart.')
output CLUSTER_NAME string = clusterName

@description('The cluster\'s resource group.')
output CLUSTER_RESOURCE_GROUP string = clusterResourceGroup

@description('The resource group of the machines.')
output NODE_RESOURCE_GROUP string = facts.outputs.nodeResourceGroup

@description('Host name of the Service Bus: settings.serviceBusNamespace of the chart.')
output SERVICE_BUS_NAMESPACE string = serviceBus.outputs.fullyQualifiedNamespace

@description('Where blobs are: settings.blobServiceUri of the chart.')
output BLOB_SERVICE_URI string = dataStorage.outputs.blobEndpoint

@description('The namespace of the relay in the cluster.')
output RELAY_NAMESPACE string = relayNamespace

@description('Feature gates of the app, of which the chart has to know one.')
output FEATURE_GATES string = settings.?FEATURE_GATES ?? ''

@description('Name of the registry for the relay\'s image; empty where none was made.')
output REGISTRY_NAME string = createRegistry ? names.registry : ''

@description('The relay\'s image, where it is one of your own; empty where it is built, or that of a published version.')
output RELAY_IMAGE string = relayImage

@description('Resource id of the Application Insights component.')
output APPLICATION_INSIGHTS_ID string = monitoring.outputs.applicationInsightsId

@description('The end of the custom roles\' names.')
output ROLE_SUFFIX string = suffix

// What removing has to know of what is outside the resource group: see infra/hooks/outside.ts.

@description('Resource id of the subnet of new nodes.')
output NODE_SUBNET_ID string = nodeSubnetResourceId

@description('Resource ids of further subnets of nodes, with commas between; empty where there are none.')
output ADDITIONAL_NODE_SUBNET_IDS string = join(additionalNodeSubnetResourceIds, ',')

@description('Resource id of the identity that nodes carry.')
output KUBELET_IDENTITY_ID string = facts.outputs.kubeletIdentityId

@description('Resource id of the disk encryption set of the nodes; empty where there is none.')
output DISK_ENCRYPTION_SET_ID string = facts.outputs.diskEncryptionSetId

@description('Resource id of the topic of health resources that was there before; empty where it was made here.')
output HEALTH_TOPIC_ID string = azureEvents ? existingHealthTopicResourceId : ''

@description('The same of maintenance resources; empty without scheduledEvents.')
output MAINTENANCE_TOPIC_ID string = azureEvents && scheduledEvents ? existingMaintenanceTopicResourceId : ''

@description('The same of the node resource group.')
output DELETION_TOPIC_ID string = azureEvents ? existingDeletionTopicResourceId : ''

@description('Name of the budget, which is the subscription\'s; empty where none was made.')
output BUDGET_NAME string = monthlyBudget > 0 ? 'nodewright-${token}' : ''
