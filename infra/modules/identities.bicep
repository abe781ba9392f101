metadata description = 'The two identities: one that the functions act as, one that the relay acts as. Neither has a secret.'

@description('Name of the identity of the functions.')
param functionsIdentityName string

@description('Name of the identity of the relay.')
param relayIdentityName string

@description('Region of both.')
param location string

@description('Tags of both.')
param tags { *: string }

@description('Who signs the tokens of the cluster\'s service accounts.')
param oidcIssuer string

@description('The namespace of the relay in the cluster.')
param relayNamespace string

resource functions 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = {
  name: functionsIdentityName
  location: location
  tags: tags
}

resource relay 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = {
  name: relayIdentityName
  location: location
  tags: tags
}

// Whoever runs as the relay's service account is the relay, by a token that the cluster signs for an hour or less.
resource relayInCluster 'Microsoft.ManagedIdentity/userAssignedIdentities/federatedIdentityCredentials@2024-11-30' = {
  parent: relay
  name: 'nodewright-relay'
  properties: {
    issuer: oidcIssuer
    subject: 'system:serviceaccount:${relayNamespace}:nodewright-relay'
    audiences: [
      'api://AzureADTokenExchange'
    ]
  }
}

@description('Resource id of the identity of the functions.')
output functionsIdentityId string = functions.id

@description('Object id of the identity of the functions: what Azure and the cluster give rights to.')
output functionsPrincipalId string = functions.properties.principalId

@description('Client id of the identity of the functions.')
output functionsClientId string = functions.properties.clientId

@description('Object id of the identity of the relay.')
output relayPrincipalId string = relay.properties.principalId

@description('Client id of the identity of the relay: what its service account is annotated with.')
output relayClientId string = relay.properties.clientId
