metadata description = 'The right to make, read and remove nodes, in the resource group that AKS keeps the machines in.'

@description('Distinguishes the role\'s name from those of other deployments: names of roles are the tenant\'s.')
param suffix string

@description('Object id of the identity that gets the right.')
param principalId string

var place = resourceGroup().id

resource role 'Microsoft.Authorization/roleDefinitions@2022-04-01' = {
  name: guid(place, 'nodewright-machines', suffix)
  properties: {
    roleName: 'Nodewright machines ${suffix}'
    description: 'Makes, reads and removes the VMs and network interfaces of nodes.'
    type: 'CustomRole'
    assignableScopes: [
      place
    ]
    permissions: [
      {
        actions: [
          'Microsoft.Compute/virtualMachines/read'
          'Microsoft.Compute/virtualMachines/write'
          'Microsoft.Compute/virtualMachines/delete'
          'Microsoft.Compute/virtualMachines/extensions/write'
          'Microsoft.Network/networkInterfaces/read'
          'Microsoft.Network/networkInterfaces/write'
          'Microsoft.Network/networkInterfaces/delete'
          'Microsoft.Network/networkInterfaces/join/action'
          'Microsoft.Network/loadBalancers/read'
          'Microsoft.Network/loadBalancers/backendAddressPools/join/action'
          'Microsoft.Network/networkSecurityGroups/read'
          'Microsoft.Network/networkSecurityGroups/join/action'
          'Microsoft.Network/virtualNetworks/read'
          'Microsoft.Network/virtualNetworks/subnets/read'
          'Microsoft.Network/virtualNetworks/subnets/join/action'
        ]
      }
    ]
  }
}

resource assignment 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(place, principalId, role.id)
  properties: {
    principalId: principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: role.id
  }
}
