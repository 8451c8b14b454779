// Where the demo merchant sells: currencies, ways to pay, usual amounts, and the people who pay.

import type { Currency } from '../core/currency.ts'
import type { AccountInput } from '../p2p-accounts/schema.ts'

/** How payers pay on the checkout page. */
export type PayerChannel = 'card' | 'mobile_money' | 'bank_transfer'

export interface Market {
  currency: Currency
  country: string
  /** The share of all payments. */
  weight: number
  channels: Readonly<Partial<Record<PayerChannel, number>>>
  /** Half of the purchases cost less; amounts are multiples of the step, in major units. */
  median: number
  step: number
  /** By the code of the network, with the beginning of its numbers. */
  networks: Readonly<Record<string, { weight: number; prefix: string }>>
  /** How many digits follow the prefix of a number. */
  digits: number
  firstnames: readonly string[]
  lastnames: readonly string[]
  /** Hours to add to UTC for the day of the payers. */
  offsetHours: number
  p2pAccount?: AccountInput
}

const list = (text: string) => text.split(' ')
const network = (weight: number, prefix: string) => ({ weight, prefix })

export const MARKETS: readonly Market[] = [
  {
    currency: 'NGN',
    country: 'NG',
    weight: 32,
    channels: { card: 46, bank_transfer: 42, mobile_money: 12 },
    median: 18_500,
    step: 50,
    networks: { opay_ng: network(6, '+234803'), mtn_ng: network(4, '+234806') },
    digits: 7,
    firstnames: list(
      'Chinedu Ngozi Tunde Aisha Emeka Funke Ifeoma Segun Yetunde Musa Zainab Obinna Temitope Bola',
    ),
    lastnames: list(
      'Okafor Adeyemi Balogun Eze Ibrahim Nwosu Ogunleye Bello Okonkwo Lawal Onyeka Danjuma Abiola',
    ),
    offsetHours: 1,
    p2pAccount: {
      channel: 'bank_transfer',
      currency: 'NGN',
      accountName: 'Savanna Home Nigeria Ltd',
      accountNumber: '0123456789',
      bankName: 'Zenith Bank',
    },
  },
  {
    currency: 'KES',
    country: 'KE',
    weight: 23,
    channels: { mobile_money: 80, card: 20 },
    median: 2_450,
    step: 10,
    networks: { mpesa_ke: network(9, '+254712'), airtel_ke: network(1, '+254733') },
    digits: 6,
    firstnames: list(
      'Amina Brian Wanjiku Otieno Faith Kevin Mercy Njeri Kamau Achieng Daniel Joyce Mwangi Halima',
    ),
    lastnames: list(
      'Odhiambo Kariuki Mutua Wambui Kiptoo Njoroge Omondi Cheruiyot Maina Hassan Wekesa Nyambura',
    ),
    offsetHours: 3,
    p2pAccount: {
      channel: 'mobile_money',
      currency: 'KES',
      accountName: 'Savanna Home',
      network: 'mpesa_ke',
      phoneNumber: '+254712000100',
    },
  },
  {
    currency: 'GHS',
    country: 'GH',
    weight: 13,
    channels: { mobile_money: 76, card: 24 },
    median: 265,
    step: 1,
    networks: { mtn_gh: network(7, '+233244'), telecel_gh: network(3, '+233200') },
    digits: 6,
    firstnames: list('Kwame Ama Kofi Akosua Yaw Abena Kwabena Efua Kojo Adwoa Nana Esi'),
    lastnames: list('Mensah Owusu Boateng Asante Osei Appiah Agyeman Addo Amoah Darko Ofori'),
    offsetHours: 0,
  },
  {
    currency: 'XOF',
    country: 'CI',
    weight: 12,
    channels: { mobile_money: 86, card: 14 },
    median: 14_500,
    step: 100,
    networks: {
      orange_ci: network(5, '+22507'),
      wave_ci: network(4, '+22505'),
      mtn_ci: network(2, '+22505'),
    },
    digits: 8,
    firstnames: list('Awa Koffi Mariam Yao Fatou Adama Aya Ibrahima Aminata Konan Bintou Moussa'),
    lastnames: list('Kouassi Traoré Koné Ouattara Diabaté Bamba Touré Coulibaly Yéo Diallo Cissé'),
    offsetHours: 0,
  },
  {
    currency: 'ZMW',
    country: 'ZM',
    weight: 7,
    channels: { mobile_money: 84, card: 16 },
    median: 430,
    step: 5,
    networks: { mtn_zm: network(5, '+26096'), airtel_zm: network(5, '+26097') },
    digits: 7,
    firstnames: list('Mutale Chanda Bwalya Thandiwe Mwamba Natasha Kelvin Mwila Precious Joseph'),
    lastnames: list('Banda Phiri Mwansa Tembo Zulu Mulenga Chilufya Sakala Lungu Musonda'),
    offsetHours: 2,
  },
  {
    currency: 'USD',
    country: 'KE',
    weight: 6,
    channels: { card: 100 },
    median: 64,
    step: 1,
    networks: {},
    digits: 6,
    firstnames: list('Sarah Michael Leila James Grace David Nadia Peter Anita Samuel'),
    lastnames: list('Miller Ahmed Johnson Kimani Patel Okello Brown Haile Williams Mbeki'),
    offsetHours: 3,
  },
  {
    currency: 'BDT',
    country: 'BD',
    weight: 4,
    channels: { mobile_money: 88, card: 12 },
    median: 1_850,
    step: 10,
    networks: { bkash_bd: network(7, '+88017'), nagad_bd: network(3, '+88018') },
    digits: 8,
    firstnames: list('Rahim Nusrat Tanvir Farzana Arif Sadia Imran Mahmuda Rafiq Sumaiya'),
    lastnames: list('Hossain Rahman Akter Chowdhury Islam Khan Begum Ahmed Sarkar Miah'),
    offsetHours: 6,
  },
  {
    currency: 'UGX',
    country: 'UG',
    weight: 3,
    channels: { mobile_money: 92, card: 8 },
    median: 62_000,
    step: 500,
    networks: { mtn_ug: network(6, '+25677'), airtel_ug: network(4, '+25670') },
    digits: 7,
    firstnames: list('Nakato Okello Namutebi Ssali Auma Kato Nabirye Mugisha Atim Ronald'),
    lastnames: list('Mukasa Ssemakula Nansubuga Opio Tumusiime Kizza Namuli Byaruhanga Acen'),
    offsetHours: 3,
    p2pAccount: {
      channel: 'mobile_money',
      currency: 'UGX',
      accountName: 'Savanna Home Uganda',
      network: 'mtn_ug',
      phoneNumber: '+256770000100',
    },
  },
]

export const PRODUCTS: readonly string[] = [
  'Woven basket, large',
  'Kitenge cushion covers, set of 4',
  'Ceramic coffee set',
  'Sisal floor mat, 2 × 3 m',
  'Solar lantern',
  'Carved serving board',
  'Cotton bed sheets, queen size',
  'Clay cooking pot',
  'Beaded table runner',
  'Shea butter soap, box of 12',
  'Rattan lamp shade',
  'Brass candle holders, pair',
]

export const SUBSCRIPTION = 'Savanna Plus, monthly'

export const REFUND_REASONS: readonly string[] = [
  'Arrived damaged',
  'Out of stock',
  'Customer changed their mind',
  'Wrong colour was sent',
  'Delivered late',
  'Ordered twice',
]
