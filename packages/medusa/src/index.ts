// The module that Medusa loads by the name of the package. A default export, because Medusa adds properties to the object.

import { CowryPaymentProvider } from './provider.ts'

export default { module: 'payment', services: [CowryPaymentProvider] }
