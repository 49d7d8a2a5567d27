/** One page of the demo's web site. Its links are paths of other pages. */
export type SitePage = {
  readonly path: string;
  readonly title: string;
  readonly paragraphs: readonly string[];
  readonly links: readonly string[];
};

/** A dozen short texts about how clocks hold on to their power and let it go; written for this demo. */
export const SITE_PAGES: readonly SitePage[] = [
  {
    path: "/",
    title: "The Clockwork Reader",
    paragraphs: [
      "The Clockwork Reader is a small library about the parts of a clock that nobody looks at: those that take in power, hold it, and let it go one tooth at a time.",
      "Every mechanical clock has the same two problems. Something has to store the effort of winding and must not give it back at once. And something has to release that store in equal portions, whether the spring is full or nearly empty, whether the room is warm or cold, whether anybody is winding or not.",
      "The pages below begin with the ratchet, which is older than any clock, and with the verge, which made the first clocks possible. From there each page leads on to what was invented because of its shortcomings. Follow the links: not every page can be reached from here.",
    ],
    links: ["/ratchet", "/verge", "/mainspring", "/pendulum"],
  },
  {
    path: "/ratchet",
    title: "Ratchet and pawl",
    paragraphs: [
      "A ratchet is a wheel with slanted teeth, and the pawl is the catch that lets it turn one way only. As the wheel moves forward the pawl rides up each slope and drops behind the tooth; when the wheel tries to go back, the tooth leans against the pawl and stops.",
      "The idea is far older than clockwork. Greek engineers held the drawn string of the gastraphetes with a toothed bar and a catch, and ships' crews relied on pawls to keep a capstan from spinning back under the weight of the anchor. What all of these have in common is that a pause costs nothing: whoever lets go of the handle finds the work where it was left.",
      "In a clock the pawl is called a click. It sits beside the winding wheel, and it is what is heard when a clock is wound. Without it the mainspring would empty itself through the key in a second. With it, winding can be interrupted at any tooth and taken up again later.",
    ],
    links: ["/mainspring", "/maintaining-power", "/"],
  },
  {
    path: "/verge",
    title: "The verge escapement",
    paragraphs: [
      "The verge is the earliest mechanical escapement that we know of, and it appeared in European church towers in the late thirteenth century. A crown wheel with an odd number of teeth pushes in turn against two small plates on an upright rod, and each push swings a bar with weights, the foliot, first one way and then the other.",
      "Its weakness is that the foliot has no beat of its own. How fast it swings depends on how hard it is pushed, so that every change in the driving force changes the time. A tower clock of that age was set by the sundial each day, and an error of a quarter of an hour surprised nobody.",
      "The verge also recoils: at each beat the swinging bar drives the whole train of wheels back a little before it gives way. For four hundred years this was accepted, because nothing else was known. Two inventions ended it, one that gave the clock a beat of its own and one that took away the recoil.",
    ],
    links: ["/pendulum", "/fusee", "/anchor"],
  },
  {
    path: "/pendulum",
    title: "The pendulum",
    paragraphs: [
      "The pendulum gave the clock a beat that hardly depends on how hard it is driven. Christiaan Huygens designed a pendulum clock in 1656, and Salomon Coster of The Hague built the first ones in the following year.",
      "The improvement was of a kind that is seldom seen. The error of a good clock fell from about fifteen minutes a day to about fifteen seconds, and for the first time a minute hand was worth having. Many older clocks were rebuilt with a pendulum in place of the foliot.",
      "Huygens kept the verge, and the verge needs a wide swing. But a pendulum takes slightly longer for a wide swing than for a narrow one, so that its beat was not quite free of the drive after all. Huygens answered with curved cheeks that shorten the pendulum as it rises. Clockmakers preferred another answer: an escapement that is content with a narrow swing.",
    ],
    links: ["/anchor", "/maintaining-power", "/verge"],
  },
  {
    path: "/anchor",
    title: "The anchor escapement",
    paragraphs: [
      "The anchor escapement let a pendulum keep time with a swing of only a few degrees. It came up in England around 1670; Robert Hooke and William Clement have both been named as its inventor, and the question is open.",
      "Two curved arms, which look a little like a ship's anchor, reach over the teeth of a flat wheel and catch it alternately. Because the swing is so narrow, the pendulum can be long and heavy and still fit into a slender case. A pendulum of about one metre beats whole seconds, and the long-case clock took its shape from it.",
      "What the anchor did not remove is the recoil. After each tooth has landed, the pendulum swings on and pushes the wheel back, and a careful eye can see the second hand shiver. Each such push disturbs the pendulum a little, which no observatory could accept for long.",
    ],
    links: ["/deadbeat", "/pendulum"],
  },
  {
    path: "/deadbeat",
    title: "The deadbeat escapement",
    paragraphs: [
      "The deadbeat escapement is an anchor without recoil: once a tooth has landed, the wheel stands perfectly still. Richard Towneley proposed it, Thomas Tompion built it into two clocks for the new observatory at Greenwich in 1676, and George Graham brought it into general use about forty years later.",
      "The trick lies in the shape of the arms. The face on which the tooth rests is part of a circle around the axle of the anchor, so that the pendulum may swing on without moving the wheel at all. Only at the end of the swing does the tooth slide onto a slanted face and give its push.",
      "So holding and pushing, which earlier escapements mixed, became two separate acts on two separate surfaces. Regulators with Graham's escapement set the time for astronomers until the twentieth century. Its idea of a wheel that rests while the oscillator does its work was then carried further in watches.",
    ],
    links: ["/lever", "/detent", "/anchor"],
  },
  {
    path: "/lever",
    title: "The lever escapement",
    paragraphs: [
      "The lever escapement is the one that ticks in nearly every mechanical watch made today. Thomas Mudge invented it around 1755 and put it into a watch for Queen Charlotte some fifteen years later, but it took others half a century to see what it was worth.",
      "Between the escape wheel and the balance lies a small lever that touches the balance only for a moment in each swing. For the rest of the time the balance is detached and moves freely. Should a jolt come, a guard pin keeps the lever from crossing over at the wrong moment.",
      "Later makers slanted the locking faces so that the wheel itself draws the lever against its stop and holds it there. A watch with such a draw starts by itself, survives being worn on a wrist, and can be made in great numbers. It is not the most exact of escapements, but it is the one that forgives the most.",
    ],
    links: ["/detent", "/keyless-winding", "/deadbeat"],
  },
  {
    path: "/detent",
    title: "The chronometer detent",
    paragraphs: [
      "The detent escapement was made for the chronometers by which ships found their longitude. Pierre Le Roy showed the principle in the middle of the eighteenth century, and John Arnold and Thomas Earnshaw gave it the spring detent, each insisting that he had been first.",
      "A slender spring holds the escape wheel. Once in every full swing the balance brushes the spring aside, the wheel jumps forward, gives the balance a push directly and is caught again. There is no lever between the two and no sliding on the surfaces that push, so that no oil is needed where oil would do most harm.",
      "The price is fragility. A sharp twist of the hand can unlock the wheel twice in one swing, and then the watch runs ahead without anybody noticing. At sea the chronometer lay in gimbals in a padded box and was wound at the same hour each day, always by the same officer, who wrote it down.",
    ],
    links: ["/maintaining-power", "/lever"],
  },
  {
    path: "/mainspring",
    title: "The mainspring",
    paragraphs: [
      "The mainspring made the clock portable, because a coiled ribbon of steel pulls in every position and a weight does not. Spring-driven clocks are known from the fifteenth century, and by the early sixteenth the locksmiths of Nuremberg made some that could be carried.",
      "A spring stores the work of a hundred turns of a key within a barrel no larger than a coin. A ratchet on its arbor keeps what was wound from running back, and the whole safety of the watch hangs on that one click: should it slip, the spring lets go at once and strips the teeth of the wheels.",
      "Its great fault is that it pulls hard when it is wound and feebly when it has run down. Together with a verge, which follows every change of force, this was ruinous: the early watches gained in the morning and lost in the evening. The remedy was to put something between the spring and the wheels that would even out the pull.",
    ],
    links: ["/fusee", "/ratchet", "/keyless-winding"],
  },
  {
    path: "/fusee",
    title: "The fusee",
    paragraphs: [
      "The fusee is a cone with a spiral groove that evens out the pull of a mainspring. A cord or a fine chain runs from the spring's barrel onto the cone. When the spring is full it pulls at the thin end, where it has little leverage, and as it weakens it works at the thick end, where it has much.",
      "Drawings of the device are older than most spring clocks, and a table clock made in Burgundy around 1430 is among the oldest that survive with one. Fitted well to its spring, a fusee delivers nearly the same force from the first hour to the last.",
      "It has a drawback that is easily overlooked. To wind a clock with a fusee the cone is turned backwards, and for as long as that lasts nothing drives the wheels. The clock stops, or even runs back, for half a minute each day. Whoever wanted to trust the time had to find a way to keep the clock going while it was being wound.",
    ],
    links: ["/maintaining-power", "/mainspring"],
  },
  {
    path: "/maintaining-power",
    title: "Maintaining power",
    paragraphs: [
      "Maintaining power keeps a clock going while it is being wound. Without it each winding costs the clock some seconds that nobody sees and nobody can add up afterwards.",
      "Huygens solved it for weights: he hung them in an endless loop of rope, so that pulling one side for winding never takes the load off the other. For clocks with a fusee John Harrison devised the going ratchet in the 1720s. A second, larger ratchet wheel with its own small spring sits beside the first; when the main drive is taken away, its pawl holds, and the small spring goes on pushing for a few minutes.",
      "The arrangement has two pawls with different duties. One keeps the work of the winder from being lost, the other keeps the clock from being interrupted by it. Every marine chronometer was given both. It is a modest invention, and it is what makes an interruption harmless.",
    ],
    links: ["/ratchet", "/fusee", "/keyless-winding"],
  },
  {
    path: "/keyless-winding",
    title: "Winding without a key",
    paragraphs: [
      "For three hundred years a watch was wound with a key, and a lost key was a stopped watch. In the 1840s Adrien Philippe built watches that were wound and set by a crown at the end of a stem, and the key went out of use within a generation.",
      "Inside, two small wheels with slanted teeth face each other on the stem. Turned forward they lock and wind the spring; turned back they slip over one another with a soft rattle. The thumb may go to and fro without letting go, and only half of its movement counts. It is a ratchet again, used this time to make a careless motion safe.",
      "The last step was to do without the thumb. Abraham-Louis Perrelet made pocket watches with a swinging weight that wound them as their owners walked, around 1777, and John Harwood patented a self-winding wristwatch in 1923. In both, pawls pass on the useful part of every movement and discard the rest.",
    ],
    links: ["/mainspring", "/lever", "/ratchet"],
  },
];
