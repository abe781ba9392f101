metadata description = 'Brings events of a topic that is there into the queue of signals, by the topic\'s own identity.'

@description('Name of the topic, in the resource group that this module is deployed to. It must have a system-assigned identity.')
param topicName string

@description('Name of the event subscription.')
param subscriptionName string

@description('Types of the events.')
param eventTypes string[]

@description('What the events\' subject begins with: one cluster\'s machines.')
param subjectBeginsWith string

@description('What else has to hold of an event.')
param advancedFilters object[]

@description('The resource group of the Service Bus namespace.')
param serviceBusResourceGroup string

@description('Name of the Service Bus namespace.')
param serviceBusName string

@description('Name of the queue.')
param queueName string

resource topic 'Microsoft.EventGrid/systemTopics@2025-02-15' existing = {
  name: topicName
}

resource namespace 'Microsoft.ServiceBus/namespaces@2026-01-01' existing = {
  name: serviceBusName
  scope: resourceGroup(serviceBusResourceGroup)
}

resource queue 'Microsoft.ServiceBus/namespaces/queues@2026-01-01' existing = {
  parent: namespace
  name: queueName
}

module sender '../access/queue-role.bicep' = {
  name: 'nodewright-${subscriptionName}-sender'
  scope: resourceGroup(serviceBusResourceGroup)
  params: {
    namespaceName: serviceBusName
    queueNames: [
      queueName
    ]
    role: 'Azure Service Bus Data Sender'
    principalId: topic.identity.principalId
  }
}

// Azure refuses the subscription until the topic may send.
resource toQueue 'Microsoft.EventGrid/systemTopics/eventSubscriptions@2025-02-15' = {
  parent: topic
  name: subscriptionName
  dependsOn: [
    sender
  ]
  properties: {
    deliveryWithResourceIdentity: {
      identity: {
        type: 'SystemAssigned'
      }
      destination: {
        endpointType: 'ServiceBusQueue'
        properties: {
          resourceId: queue.id
        }
      }
    }
    eventDeliverySchema: 'CloudEventSchemaV1_0'
    filter: {
      includedEventTypes: eventTypes
      subjectBeginsWith: subjectBeginsWith
      advancedFilters: advancedFilters
      enableAdvancedFilteringOnArrays: true
    }
    // After an hour the sweep has long found by itself what an event would say.
    retryPolicy: {
      maxDeliveryAttempts: 30
      eventTimeToLiveInMinutes: 60
    }
  }
}
