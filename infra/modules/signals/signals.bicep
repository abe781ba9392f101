metadata description = 'What Azure itself tells of a cluster\'s machines, brought into the queue of signals. It comes beside what the relay sees.'

@description('The resource group in which AKS keeps the machines: events of others are left out.')
param nodeResourceGroup string

@description('Name of the Service Bus namespace, in this resource group.')
param serviceBusName string

@description('Distinguishes names from those of other deployments.')
param suffix string

@description('Names of the topics that are made here: health, maintenance, deletions.')
param topicNames {
  health: string
  maintenance: string
  deletions: string
}

@description('Tags of the topics.')
param tags { *: string }

@description('The subscription\'s topic of health resources, where there is one. Empty: it is made.')
param existingHealthTopicResourceId string

@description('Scheduled events are subscribed to as well: a preview of Azure\'s.')
param scheduledEvents bool

@description('The subscription\'s topic of maintenance resources, where there is one. Empty: it is made, with scheduledEvents.')
param existingMaintenanceTopicResourceId string

@description('The topic of the node resource group, where there is one. Empty: it is made.')
param existingDeletionTopicResourceId string

var machines = '${subscription().id}/resourceGroups/${nodeResourceGroup}/providers/Microsoft.Compute/virtualMachines/'

var makesHealthTopic = empty(existingHealthTopicResourceId)
var healthTopic = {
  group: makesHealthTopic ? resourceGroup().name : split(existingHealthTopicResourceId, '/')[4]
  name: makesHealthTopic ? topicNames.health : last(split(existingHealthTopicResourceId, '/'))
}
var makesMaintenanceTopic = empty(existingMaintenanceTopicResourceId)
var maintenanceTopic = {
  group: makesMaintenanceTopic ? resourceGroup().name : split(existingMaintenanceTopicResourceId, '/')[4]
  name: makesMaintenanceTopic ? topicNames.maintenance : last(split(existingMaintenanceTopicResourceId, '/'))
}
var makesDeletionTopic = empty(existingDeletionTopicResourceId)
var deletionTopic = {
  group: makesDeletionTopic ? resourceGroup().name : split(existingDeletionTopicResourceId, '/')[4]
  name: makesDeletionTopic ? topicNames.deletions : last(split(existingDeletionTopicResourceId, '/'))
}

module newHealthTopic 'system-topic.bicep' = if (makesHealthTopic) {
  name: 'nodewright-health-topic-${suffix}'
  params: {
    name: topicNames.health
    tags: tags
    source: subscription().id
    topicType: 'Microsoft.ResourceNotifications.HealthResources'
  }
}

module health 'topic-to-queue.bicep' = {
  name: 'nodewright-health-${suffix}'
  scope: resourceGroup(healthTopic.group)
  dependsOn: [
    newHealthTopic
  ]
  params: {
    topicName: healthTopic.name
    subscriptionName: 'nodewright-health-${suffix}'
    eventTypes: [
      'Microsoft.ResourceNotifications.HealthResources.ResourceAnnotated'
      'Microsoft.ResourceNotifications.HealthResources.AvailabilityStatusChanged'
    ]
    subjectBeginsWith: machines
    // Those that shared/contract/messages/health-annotations.ts ignores are left out; a test compares. Events without an annotation pass.
    advancedFilters: [
      {
        operatorType: 'StringNotIn'
        key: 'data.resourceInfo.properties.annotationName'
        values: [
          'VirtualMachineAllocated'
          'VirtualMachineConfigurationUpdated'
        ]
      }
    ]
    serviceBusResourceGroup: resourceGroup().name
    serviceBusName: serviceBusName
    queueName: 'signals'
  }
}

module newMaintenanceTopic 'system-topic.bicep' = if (scheduledEvents && makesMaintenanceTopic) {
  name: 'nodewright-maintenance-topic-${suffix}'
  params: {
    name: topicNames.maintenance
    tags: tags
    source: subscription().id
    topicType: 'Microsoft.ResourceNotifications.MaintenanceResources'
  }
}

module maintenance 'topic-to-queue.bicep' = if (scheduledEvents) {
  name: 'nodewright-maintenance-${suffix}'
  scope: resourceGroup(maintenanceTopic.group)
  dependsOn: [
    newMaintenanceTopic
  ]
  params: {
    topicName: maintenanceTopic.name
    subscriptionName: 'nodewright-maintenance-${suffix}'
    eventTypes: [
      'Microsoft.ResourceNotifications.MaintenanceResources.ScheduledEventEmitted'
    ]
    subjectBeginsWith: machines
    advancedFilters: []
    serviceBusResourceGroup: resourceGroup().name
    serviceBusName: serviceBusName
    queueName: 'signals'
  }
}

module newDeletionTopic 'system-topic.bicep' = if (makesDeletionTopic) {
  name: 'nodewright-deletion-topic-${suffix}'
  params: {
    name: topicNames.deletions
    tags: tags
    source: '${subscription().id}/resourceGroups/${nodeResourceGroup}'
    topicType: 'Microsoft.Resources.ResourceGroups'
  }
}

module deletions 'topic-to-queue.bicep' = {
  name: 'nodewright-deletions-${suffix}'
  scope: resourceGroup(deletionTopic.group)
  dependsOn: [
    newDeletionTopic
  ]
  params: {
    topicName: deletionTopic.name
    subscriptionName: 'nodewright-deletions-${suffix}'
    eventTypes: [
      'Microsoft.Resources.ResourceDeleteSuccess'
    ]
    subjectBeginsWith: machines
    // Not those of a machine's extensions.
    advancedFilters: [
      {
        operatorType: 'StringIn'
        key: 'data.operationName'
        values: [
          'Microsoft.Compute/virtualMachines/delete'
        ]
      }
    ]
    serviceBusResourceGroup: resourceGroup().name
    serviceBusName: serviceBusName
    queueName: 'signals'
  }
}
