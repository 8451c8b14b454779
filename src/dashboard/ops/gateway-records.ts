// What the screens of operators use of the records of gateways.

export interface GatewayField {
  name: string
  variable: string
  isRequired: boolean
  meaning: string
}

export interface Gateway {
  gateway: string
  title: string
  isConfigured: boolean
  baseUrl: string
  webhookUrl: string
  credentials: GatewayField[]
  limits: GatewayField[]
}

export interface MerchantGateway {
  gateway: string
  title: string
  servedBy: 'merchant' | 'instance' | null
  account: {
    status: string
    credentials: { name: string; isSet: boolean; ending: string | null }[]
    webhookUrl: string
    updatedAt: string
  } | null
}
