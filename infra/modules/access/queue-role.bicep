metadata description = 'A built-in role on queues, queue by queue.'

@description('Name of the Service Bus namespace, in the resource group that this module is deployed to.')
param namespaceName string

@description('Names of the queues.')
param queueNames string[]

@description('The role.')
@allowed([
  'Azure Service Bus Data Owner'
  'Azure Service Bus Data Receiver'
  'Azure Service Bus Data Sender'
])
param role string

@description('Object id of the identity that gets it.')
param principalId string

var roleIds = {
  'Azure Service Bus Data Owner': '090c5cfd-751d-490a-894a-3ce6f1109419'
  'Azure Service Bus Data Receiver': '4f6d3b9b-027b-4f4c-9142-0e5a2a2247e0'
  'Azure Service Bus Data Sender': '69a216fc-b8fb-44d8-bc22-1f3c2cd27a39'
}
var roleDefinitionId = subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roleIds[role])

resource namespace 'Microsoft.ServiceBus/namespaces@2026-01-01' existing = {
  name: namespaceName
}

resource queue 'Microsoft.ServiceBus/namespaces/queues@2026-01-01' existing = [
  for queueName in queueNames: {
    parent: namespace
    name: queueName
  }
]

resource assignment 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (queueName, index) in queueNames: {
    name: guid(namespaceName, queueName, principalId, role)
    scope: queue[index]
    properties: {
      principalId: principalId
      principalType: 'ServicePrincipal'
      roleDefinitionId: roleDefinitionId
    }
  }
]
