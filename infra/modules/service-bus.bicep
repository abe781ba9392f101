metadata description = 'The namespace and its queues. What a queue is like is what shared/contract/messages/queues.ts says: a test compares.'

@description('Name of the namespace.')
param name string

@description('Region of the namespace.')
param location string

@description('Tags of the namespace.')
param tags { *: string }

@description('Premium is needed for private endpoints; Standard does for all else.')
@allowed([
  'Standard'
  'Premium'
])
param sku string

@description('Messaging units, of Premium only.')
param capacity int

@description('May be reached from the internet. Off: by private endpoint, and by Event Grid as a trusted service.')
param publicNetworkAccess bool

// Sessions cannot be changed afterwards: a queue that has them otherwise must be deleted first.
var queues = [
  {
    name: 'pods'
    requiresSession: true
    lockDuration: 'PT5M'
    maxDeliveryCount: 10
    requiresDuplicateDetection: true
    duplicateDetectionWindow: 'PT10M'
  }
  {
    name: 'claims'
    requiresSession: false
    lockDuration: 'PT5M'
    maxDeliveryCount: 10
    requiresDuplicateDetection: true
    duplicateDetectionWindow: 'PT10M'
  }
  {
    name: 'launches'
    requiresSession: false
    lockDuration: 'PT5M'
    maxDeliveryCount: 10
    requiresDuplicateDetection: true
    duplicateDetectionWindow: 'PT10M'
  }
  {
    name: 'signals'
    requiresSession: false
    lockDuration: 'PT1M'
    maxDeliveryCount: 10
    requiresDuplicateDetection: true
    duplicateDetectionWindow: 'PT10M'
  }
  {
    name: 'poison'
    requiresSession: false
    lockDuration: 'PT1M'
    maxDeliveryCount: 10
    requiresDuplicateDetection: true
    // A message can come again for fifty minutes, and is kept once.
    duplicateDetectionWindow: 'PT60M'
  }
]

resource namespace 'Microsoft.ServiceBus/namespaces@2026-01-01' = {
  name: name
  location: location
  tags: tags
  sku: {
    name: sku
    tier: sku
    capacity: sku == 'Premium' ? capacity : null
  }
  properties: {
    disableLocalAuth: true
    minimumTlsVersion: '1.2'
    publicNetworkAccess: publicNetworkAccess ? 'Enabled' : 'Disabled'
  }
}

resource network 'Microsoft.ServiceBus/namespaces/networkRuleSets@2026-01-01' = if (!publicNetworkAccess) {
  parent: namespace
  name: 'default'
  properties: {
    defaultAction: 'Deny'
    publicNetworkAccess: 'Disabled'
    trustedServiceAccessEnabled: true
  }
}

// A message waits until it is read: a hint that comes late is a look more, one that is lost is found by the sweep. So no time to
// live is set but the service's, which is without end.
resource queue 'Microsoft.ServiceBus/namespaces/queues@2026-01-01' = [
  for settings in queues: {
    parent: namespace
    name: settings.name
    properties: {
      requiresSession: settings.requiresSession
      lockDuration: settings.lockDuration
      maxDeliveryCount: settings.maxDeliveryCount
      requiresDuplicateDetection: settings.requiresDuplicateDetection
      duplicateDetectionHistoryTimeWindow: settings.duplicateDetectionWindow
      deadLetteringOnMessageExpiration: true
      enablePartitioning: false
    }
  }
]

@description('Resource id of the namespace.')
output id string = namespace.id

@description('Name of the namespace.')
output name string = namespace.name

@description('Host name of the namespace, as clients take it.')
output fullyQualifiedNamespace string = split(replace(namespace.properties.serviceBusEndpoint, 'https://', ''), ':')[0]
