metadata description = 'Application Insights on a Log Analytics workspace. Telemetry is let in by identity only.'

@description('Name of the Application Insights component.')
param applicationInsightsName string

@description('Name of the workspace that is made where no other is given.')
param workspaceName string

@description('A workspace to use. Empty: one is made.')
param existingWorkspaceResourceId string

@description('Days that logs are kept, in a workspace made here.')
param retentionDays int

@description('Gigabytes a day that are taken in, in a workspace made here; -1: no limit.')
param dailyQuotaGb int

@description('Region of both.')
param location string

@description('Tags of both.')
param tags { *: string }

@description('Object id of the identity that sends telemetry.')
param senderPrincipalId string

var monitoringMetricsPublisher = subscriptionResourceId(
  'Microsoft.Authorization/roleDefinitions',
  '3913510d-42f4-4e42-8a64-420c390055eb'
)

var workspaceResourceId = empty(existingWorkspaceResourceId)
  ? resourceId('Microsoft.OperationalInsights/workspaces', workspaceName)
  : existingWorkspaceResourceId

resource workspace 'Microsoft.OperationalInsights/workspaces@2023-09-01' = if (empty(existingWorkspaceResourceId)) {
  name: workspaceName
  location: location
  tags: tags
  properties: {
    sku: {
      name: 'PerGB2018'
    }
    retentionInDays: retentionDays
    features: {
      disableLocalAuth: true
    }
    workspaceCapping: {
      dailyQuotaGb: dailyQuotaGb
    }
  }
}

resource applicationInsights 'Microsoft.Insights/components@2020-02-02' = {
  name: applicationInsightsName
  location: location
  tags: tags
  kind: 'web'
  // A workspace that may not be made is not referred to by its symbol.
  dependsOn: [
    workspace
  ]
  properties: {
    Application_Type: 'web'
    DisableLocalAuth: true
    WorkspaceResourceId: workspaceResourceId
  }
}

resource sender 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(applicationInsights.id, senderPrincipalId, monitoringMetricsPublisher)
  scope: applicationInsights
  properties: {
    principalId: senderPrincipalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: monitoringMetricsPublisher
  }
}

@description('Resource id of the Application Insights component.')
output applicationInsightsId string = applicationInsights.id

@description('Resource id of the workspace.')
output workspaceId string = empty(existingWorkspaceResourceId) ? workspace.id : existingWorkspaceResourceId
