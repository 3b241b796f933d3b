/* lint by cases: a document, what it is judged by, and the codes of every finding in order. Each rule fires in one case
 * at least, and stays silent in another that comes near it. */
#include "core/arena.h"
#include "core/file.h"
#include "core/vars/catalogue.h"
#include "envgen/predict/predict.h"
#include "lint/lint.h"
#include "probe/machines/machines.h"
#include "probe/topology/topology.h"
#include "tests/lib/unit.h"
#include "tuner/table/table.h"

enum place { NOWHERE, IB, RAILS, ROCE_AMD, TCP, NAMELESS, PLUGIN, NDV4, TABLED, ROOT };

struct kase {
    const char *kind, *nccl;
    enum place place;
    const char *text, *codes;
    const char *near; /* the code that this comes near without being it */
};

static const struct kase cases[] = {
    /* names */
    {"shell", NULL, NOWHERE, "export NCCL_TREE_THRESHOLD=0\n", "NT101", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_LL_THRESHOLD=0\n", "NT101", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_IB_CUDA_SUPPORT=1\n", "NT101", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_CHECKS_DISABLE=1\n", "NT101", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_WORK_FIFO_DEPTH=1048576\n", "NT101", NULL},
    {"shell", "2.20.5", NOWHERE, "export NCCL_WORK_FIFO_DEPTH=1048576\n", "", "NT101"},
    {"shell", "2.24", NOWHERE, "export NCCL_P2P_LL_THRESHOLD=65536\n", "", "NT101"},
    {"shell", NULL, NOWHERE, "export NCCL_ALGORITHM=Ring\n", "NT102", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_MAX_RINGS=4\n", "NT102", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_SOCKET_IFNMAE=eth0\n", "NT102", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_MAX_P2P_CHANNELS=16\n", "NT102", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_IB_CONNECTION_PER_QPS=4\n", "NT102", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_TIMEOUT=1800\n", "NT102", NULL},
    {"shell", NULL, NOWHERE, "NCCL_MAX_RINGS=4\n", "", "NT102"},
    {"shell", NULL, NOWHERE, "export NCCL_VERSION=2.28.9\nexport NCCL_HOME=/opt/nccl\n", "", "NT102"},
    {"shell", NULL, NOWHERE, "export NCCL_FAVOURITE_COLOUR=blue\n", "NT103", NULL},
    {"shell", NULL, NOWHERE, "NCCL_FAVOURITE_COLOUR=blue\n", "", "NT103"},
    {"shell", NULL, NOWHERE, "export NCCL_ASYNC_ERROR_HANDLING=1\n", "NT104", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_BLOCKING_WAIT=0\n", "NT104", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_AVOID_RECORD_STREAMS=1\n", "NT104", NULL},
    {"shell", NULL, NOWHERE, "export TORCH_NCCL_ASYNC_ERROR_HANDLING=1\n", "", "NT104"},
    {"shell", NULL, NOWHERE, "export NCCL_FASTRAK_IFNAME=eth1\n", "NT105", NULL},
    {"shell", NULL, NOWHERE, "export CUDA_DEVICE_MAX_CONNECTIONS=1\n", "NT105", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_IBEXT_DISABLE=1\n", "NT105", NULL},
    {"shell", NULL, NOWHERE, "export TORCH_NCCL_HIGH_PRIORITY=1\nexport CUDA_VISIBLE_DEVICES=0\n", "", "NT105"},
    {"shell", "2.26.2", NOWHERE, "export NCCL_CTA_POLICY=2\n", "NT106", NULL},
    {"shell", "2.27.3", NOWHERE, "export NCCL_CTA_POLICY=2\n", "", "NT106"},
    {"shell", NULL, NOWHERE, "export NCCL_CTA_POLICY=2\n", "", "NT106"},
    {"shell", NULL, NOWHERE, "export NCCL_GROUP_CUDA_STREAM=1\n", "NT107", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_GRAPH_REGISTER=0\n", "", "NT107"},
    {"shell", NULL, NOWHERE, "export NCCL_MIN_NRINGS=8\n", "NT108", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_MAX_NCHANNELS=8\n", "NT108", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_MAX_CTAS=8\n", "", "NT108"},
    {"shell", NULL, IB, "export HSA_NO_SCRATCH_RECLAIM=1\n", "NT109", NULL},
    {"shell", NULL, IB, "export RCCL_MSCCL_ENABLE=0\n", "NT109", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_NCHANNELS_PER_PEER=32\n", "NT109", NULL},
    {"shell", NULL, ROCE_AMD, "export NCCL_NCHANNELS_PER_PEER=32\n", "", "NT109"},
    {"shell", NULL, ROCE_AMD, "export HSA_NO_SCRATCH_RECLAIM=1\n", "NT105", "NT109"},
    {"shell", NULL, ROCE_AMD, "export RCCL_MSCCL_ENABLE=0\n", "NT105", "NT109"},
    {"shell", NULL, NOWHERE, "export nccl_debug=WARN\n", "NT110", NULL},
    {"shell", NULL, NOWHERE, "nccl_debug=WARN\n", "", "NT110"},
    /* values */
    {"shell", NULL, NOWHERE, "export NCCL_IB_DISABLE=true\n", "NT201", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_IB_GID_INDEX=auto\n", "NT201 NT307", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_SHM_DISABLE=no\n", "NT201", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_SET_THREAD_NAME=true\n", "", "NT201"},
    {"shell", NULL, NOWHERE, "export NCCL_SHM_DISABLE=$MAYBE\n", "", "NT201"},
    {"shell", NULL, NOWHERE, "export NCCL_BUFFSIZE=8M\n", "NT202", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_NCHANNELS_PER_NET_PEER=4x\n", "NT202", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_BUFFSIZE=0x800000\n", "", "NT202"},
    {"shell", NULL, NOWHERE, "export NCCL_IB_TIMEOUT=022\n", "NT203", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_IB_TIMEOUT=08\n", "NT203", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_IB_TC=07\n", "", "NT203"},
    {"shell", NULL, NOWHERE, "export NCCL_BUFFSIZE=99999999999999999999\n", "NT204", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_BUFFSIZE=8388608\n", "", "NT204"},
    {"shell", NULL, NOWHERE, "export NCCL_NET_GDR_LEVEL=phb\n", "NT205", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_P2P_LEVEL=NVLINK\n", "NT205", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_NET_GDR_LEVEL=3\n", "NT205", NULL},
    {"shell", "2.24.3", NOWHERE, "export NCCL_NET_GDR_LEVEL=P2C\n", "NT205", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_NET_GDR_LEVEL=PHB\n", "", "NT205"},
    {"shell", NULL, NOWHERE, "export NCCL_NET_MERGE_LEVEL=port\n", "NT206", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_NET_MERGE_LEVEL=LOC\n", "", "NT206"},
    {"shell", NULL, NOWHERE, "export NCCL_ALGO=Rings\n", "NT207 NT311", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_PROTO=Simple,LL64\n", "NT207 NT311", NULL},
    {"shell", "2.28.9", NOWHERE, "export NCCL_ALGO='allreduces:ring'\n", "NT207 NT311", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_ALGO=RING\n", "NT311", "NT207"},
    {"shell", "2.23.4", NOWHERE, "export NCCL_ALGO=allreduce:ring\n", "NT208 NT311", NULL},
    {"shell", "2.22", NOWHERE, "export NCCL_PROTO='allreduce:simple'\n", "NT208 NT311", NULL},
    {"shell", "2.24.3", NOWHERE, "export NCCL_ALGO='allreduce:ring;broadcast:ring'\n", "NT311", "NT208"},
    {"shell", "2.28.9", NOWHERE, "export NCCL_ALGO=Tree\n", "NT209 NT311", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_ALGO=NVLSTree\n", "NT209 NT311", NULL},
    {"shell", "2.28.9", NOWHERE, "export NCCL_ALGO=^Ring\n", "NT209 NT311", NULL},
    {"shell", "2.28.9", NOWHERE, "export NCCL_ALGO=allreduce:tree\n", "NT311", "NT209"},
    {"shell", "2.28.9", NOWHERE, "export NCCL_ALGO=^NVLS\n", "NT311", "NT209"},
    {"shell", "2.23.4", NOWHERE, "export NCCL_ALGO=Tree\n", "NT311", "NT209"},
    {"shell", NULL, NOWHERE, "export NCCL_PROTO=^LL\n", "NT210 NT311", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_PROTO=LL128\n", "NT210 NT311", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_PROTO=^LL128\n", "NT311", "NT210"},
    {"shell", NULL, NOWHERE, "export NCCL_PROTO=Simple\n", "NT311", "NT210"},
    {"shell", NULL, NOWHERE, "export NCCL_SOCKET_FAMILY=ipv4\n", "NT211", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_SOCKET_FAMILY=AF_INET\n", "", "NT211"},
    {"shell", NULL, NOWHERE, "export NCCL_DEBUG=DEBUG\n", "NT212", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_DEBUG=warn\n", "", "NT212"},
    {"shell", NULL, NOWHERE, "export NCCL_DEBUG_SUBSYS=INIT,NETWORK\n", "NT213", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_DEBUG_SUBSYS=^init,Graph\n", "", "NT213"},
    {"shell", NULL, NOWHERE, "export NCCL_IB_HCA='=^mlx5_0'\n", "NT214", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_IB_HCA=mlx5_0,^mlx5_10\n", "NT214", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_IB_HCA='mlx5_0, mlx5_2'\n", "NT214", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_IB_HCA=mlx5_0:one\n", "NT214", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_SOCKET_IFNAME=e\n", "NT214", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_IB_HCA='^=mlx5_0:1,mlx5_3:1:2'\n", "", "NT214"},
    {"shell", NULL, NOWHERE, "export NCCL_IB_HCA=eth0\n", "NT215", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_SOCKET_IFNAME=mlx5_0\n", "NT215", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_IB_HCA=ibp12s0,rocep158s0\n", "", "NT215"},
    {"shell", NULL, NOWHERE, "export NCCL_NET_FORCE_MERGE='mlx5_0,mlx5_1;,;'\n", "NT216", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_NET_FORCE_MERGE='mlx5_0,mlx5_1;mlx5_2,mlx5_3'\n", "", "NT216"},
    {"shell", NULL, NOWHERE, "export NCCL_NETDEVS_POLICY=MAX:0\n", "NT217", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_LAUNCH_MODE=GROUP\n", "NT217", NULL},
    {"shell", "2.28.9", NOWHERE, "export NCCL_CTA_POLICY=EFFICIENCY\n", "NT217", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_NETDEVS_POLICY=max:2\n", "", "NT217"},
    {"shell", NULL, NOWHERE, "docker run -e 'NCCL_CROSS_NIC=\"1\"' image\n", "NT218", NULL},
    {"shell", NULL, NOWHERE, "docker run -e NCCL_CROSS_NIC=\"1\" image\n", "", "NT218"},
    {"shell", NULL, NOWHERE, "export NCCL_IB_ADDR_RANGE=10.0.0.0\n", "NT219", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_IB_ADDR_RANGE=10.0.0.0/16\n", "", "NT219"},
    {"shell", NULL, NOWHERE, "export NCCL_COMM_ID=node1\n", "NT221", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_COMM_ID=node1:29400\nexport NCCL_NET=IB\n", "", "NT221"},
    {"python", NULL, NOWHERE, "os.environ['NCCL_CROSS_NIC'] = 1\n", "NT616", NULL},
    {"python", NULL, NOWHERE, "os.environ['NCCL_CROSS_NIC'] = '1'\nenv['NCCL_MIN_CTAS'] = 4\n", "", "NT616"},
    {"shell", NULL, NOWHERE, "export NCCL_IB_HCA=mlx5_0:1:2,rdma-0\n", "", "NT214"},
    {"shell", NULL, NOWHERE, "#!/bin/csh\nexport A=1\nsetenv NCCL_CROSS_NIC 1\n", "", "NT611"},
    {"shell", NULL, NOWHERE, "export NCCL_CROSS_NIC=1\ndocker run --gpus all -e NCCL_CROSS_NIC image\n", "", "NT710"},
    {"shell", NULL, NOWHERE, "export NCCL_CROSS_NIC=1\ndocker run --gpus all image\n", "NT710", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_CROSS_NIC=1\ndocker run --gpus all --env-file e image\n", "", "NT710"},
    {"shell", NULL, NOWHERE, "export NCCL_CROSS_NIC=1\ndocker run --rm --gpus all image nvidia-smi\n", "", "NT710"},
    {"shell", NULL, NOWHERE, "export NCCL_CROSS_NIC=1\ndocker run --gpus all --rm $ARGS image\n", "", "NT710"},
    {"shell", NULL, NOWHERE, "export NCCL_CROSS_NIC=1\ndocker run --gpus all -it -v $A:/a $IMAGE\n", "NT710", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_CROSS_NIC=1\ndocker run --gpus all i sh -c 'NCCL_CROSS_NIC=1 t'\n", "",
     "NT710"},
    {"shell", NULL, NOWHERE, "export NCCL_CROSS_NIC=1\ndocker run -d --gpus all --name t i\ndocker exec t x\n", "",
     "NT710"},
    {"shell", NULL, NOWHERE, "f() {\n  export NCCL_CROSS_NIC=1\n}\nsrun t\n", "NT711", NULL},
    {"shell", NULL, NOWHERE, "f() {\n  export NCCL_CROSS_NIC=1\n}\nf\nsrun t\n", "", "NT711"},
    {"shell", NULL, NOWHERE, "f() {\n  export NCCL_CROSS_NIC=1\n}\n", "", "NT711"},
    {"shell", NULL, NOWHERE, "setenv () { export $1=$2; }\nsetenv NCCL_CROSS_NIC 1\n", "", "NT611"},
    {"shell", NULL, NOWHERE, "function setenv { export $1=$2; }\nsetenv NCCL_CROSS_NIC 1\n", "", "NT611"},
    {"shell", NULL, NOWHERE, "srun --export=ALL,NCCL_SOCKET_IFNAME=eth0,http_proxy t\n", "", "NT612"},
    {"python", NULL, NOWHERE, "os.system('export NCCL_CROSS_NIC=1; ' + command)\n", "", "NT706"},
    {"python", NULL, NOWHERE, "os.system('export NCCL_CROSS_NIC=1')\n", "NT706", NULL},
    {"make", NULL, NOWHERE, "export # all\nNCCL_CROSS_NIC = 1\n", "", "NT609"},
    {"make", NULL, NOWHERE, "NCCL_CROSS_NIC = 1\n", "NT609", NULL},
    {"ini", NULL, NOWHERE, "[program:a]\nenvironment=NCCL_CROSS_NIC = \"1\"\n", "", "NT613"},
    {"shell", NULL, NOWHERE, "helm install t ./c --set 'env.NCCL_IB_HCA=mlx5_0\\,mlx5_1'\n", "", "NT612"},
    {"python", NULL, NOWHERE, "os.system('export NCCL_CROSS_NIC=1; torchrun t.py')\n", "", "NT706"},
    {"shell", NULL, NOWHERE, "export NCCL_NET=Socket\nexport NCCL_IB_DISABLE=1\n", "NT310", "NT403"},
    {"shell", NULL, NOWHERE, "export NCCL_TOPO_FILE=\"~/topo.xml\"\n", "NT220", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_TOPO_FILE=~/topo.xml\n", "", "NT220"},
    /* what is never closed hides nothing of the lines below */
    {"env", NULL, NOWHERE, "NCCL_DEBUG_FILE=${HOME\nNCCL_IB_TIMEOUT=300\n", "NT301", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_DEBUG_FILE=\"log\nexport NCCL_IB_TIMEOUT=300\n", "NT301", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_DEBUG_FILE=\"a\nexport NCCL_IB_TIMEOUT=300\n\"\n", "", "NT301"},
    /* ranges and effect */
    {"shell", NULL, NOWHERE, "export NCCL_IB_TIMEOUT=300\n", "NT301", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_IB_RETRY_CNT=20\n", "NT301", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_NVLS_ENABLE=3\n", "NT301", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_IB_TIMEOUT=22\n", "", "NT301"},
    {"shell", NULL, NOWHERE, "export NCCL_SOCKET_NTHREADS=32\n", "NT302 NT315", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_MIN_NCHANNELS=112\n", "NT108 NT302", NULL},
    {"shell", NULL, ROCE_AMD, "export NCCL_MIN_NCHANNELS=112\n", "NT108", "NT302"},
    {"shell", NULL, NOWHERE, "export NCCL_MIN_CTAS=32\n", "", "NT302"},
    {"shell", NULL, NOWHERE, "export NCCL_SOCKET_NTHREADS=16\nexport NCCL_NSOCKS_PERTHREAD=8\n", "NT315 NT303 NT315",
     NULL},
    {"shell", NULL, NOWHERE, "export NCCL_SOCKET_NTHREADS=8\nexport NCCL_NSOCKS_PERTHREAD=8\n", "NT315 NT315", "NT303"},
    {"shell", NULL, NOWHERE, "export NCCL_NTHREADS=200\n", "NT304", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_WORK_FIFO_BYTES=3000000\n", "NT304", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_NTHREADS=256\n", "", "NT304"},
    {"shell", NULL, NOWHERE, "export NCCL_IB_DISABLE=0\n", "NT305", NULL},
    {"shell", "2.23.4", NOWHERE, "export NCCL_IB_TIMEOUT=20\n", "NT305", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_IB_TIMEOUT=20\n", "", "NT305"},
    {"shell", NULL, ROCE_AMD, "export NCCL_PXN_DISABLE=1\n", "NT305", NULL},
    {"shell", NULL, ROCE_AMD, "export NCCL_PXN_DISABLE=0\n", "", "NT305"},
    {"shell", NULL, NOWHERE, "export NCCL_NSOCKS_PERTHREAD=4\n", "NT306 NT315", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_SOCKET_NTHREADS=2\nexport NCCL_NSOCKS_PERTHREAD=4\n", "NT315 NT315", "NT306"},
    {"shell", NULL, NOWHERE, "export NCCL_IB_GID_INDEX=3\n", "NT307", NULL},
    {"shell", NULL, NDV4, "export NCCL_MAX_CTAS=1\n", "NT323", NULL},
    {"shell", NULL, NDV4, "export NCCL_MAX_CTAS=32\n", "", "NT323"},
    {"shell", NULL, NDV4, "export NCCL_MIN_CTAS=4\n", "NT324", NULL},
    {"shell", NULL, NDV4, "export NCCL_MIN_CTAS=30\n", "", "NT324"},
    {"shell", NULL, NDV4, "export NCCL_MIN_NRINGS=4\n", "NT108", NULL}, /* said there */
    {"shell", NULL, NOWHERE, "export NCCL_MIN_CTAS=4\n", "", "NT324"},
    {"shell", NULL, NOWHERE, "export CUDA_LAUNCH_BLOCKING=1\n", "NT326", NULL},
    {"shell", NULL, NOWHERE, "export TORCH_NCCL_BLOCKING_WAIT=true\n", "NT326", NULL},
    {"shell", NULL, NOWHERE, "export CUDA_LAUNCH_BLOCKING=0\nexport TORCH_NCCL_BLOCKING_WAIT=0\n", "", "NT326"},
    {"shell", NULL, NOWHERE, "export NCCL_NET_GDR_LEVEL=SYS\n", "NT327", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_NET_GDR_LEVEL=PHB\n", "", "NT327"},
    {"shell", NULL, NOWHERE, "export FI_PROVIDER=efa\nexport NCCL_IB_HCA==mlx5_0:1\n", "NT416", NULL},
    {"shell", NULL, NOWHERE, "export FI_PROVIDER=cxi\nexport NCCL_IB_HCA==mlx5_0:1\n", "", "NT416"},
    {"shell", "2.30", NOWHERE, "export NCCL_IB_ADAPTIVE_ROUTING=1\nexport NCCL_IB_GID_INDEX=3\n", "NT307 NT417", NULL},
    {"shell", "2.30", NOWHERE, "export NCCL_IB_ADAPTIVE_ROUTING=1\nexport NCCL_IB_GID_INDEX=-1\n", "NT305", "NT417"},
    {"shell", "2.30", NOWHERE, "export NCCL_GIN_ENABLE=0\nexport NCCL_GIN_TYPE=3\n", "NT418", NULL},
    {"shell", "2.30", NOWHERE, "export NCCL_WIN_ENABLE=1\nexport NCCL_CUMEM_ENABLE=0\n", "NT305 NT418", NULL},
    {"shell", "2.30", NOWHERE, "export NCCL_GIN_ENABLE=1\nexport NCCL_GIN_TYPE=3\n", "NT305", "NT418"},
    {"shell", "2.28", NOWHERE, "export NCCL_NET_MERGE_LEVEL=LOC\nexport NCCL_IB_MERGE_NICS=1\n", "NT305 NT407", NULL},
    {"shell", "2.28", NOWHERE, "export NCCL_PROTO=Simple,LL\nexport NCCL_TUNER_PLUGIN=ofi\n", "NT311", "NT401"},
    {"shell", "2.28", NOWHERE, "export NCCL_PROTO=^LL128\nexport NCCL_TUNER_PLUGIN=ofi\n", "NT311", "NT401"},
    {"shell", "2.28", NOWHERE, "export NCCL_ALGO=Ring,Tree\nexport NCCL_TUNER_PLUGIN=ofi\n", "NT311", "NT401"},
    {"shell", "2.28", NOWHERE, "export NCCL_ALGO=Ring\nexport NCCL_TUNER_PLUGIN=UNUSED\n", "NT311", "NT401"},
    {"shell", "2.28", NOWHERE, "export NCCL_ALGO=Ring\nexport NCCL_TUNER_PLUGIN=ofi\n", "NT311 NT401", NULL},
    {"shell", NULL, NOWHERE, "MSG=\"NCCL_DEBUG = INFO is what helps\"\n", "", "NT611"},
    {"shell", NULL, NOWHERE, "MSG=\"NCCL_DEBUG = INFO\"\n", "", "NT611"},
    {"python", NULL, NOWHERE, "cases = [\"NCCL_DEBUG = INFO\", \"NCCL_ALGO = Ring is it\"]\n", "", "NT611"},
    {"shell", NULL, NOWHERE, "export CUDA_VISIBLE_DEVICES=MIG-1,MIG-2\nexport NCCL_NVLS_ENABLE=1\n", "NT325", NULL},
    {"shell", NULL, NOWHERE, "export CUDA_VISIBLE_DEVICES=0,1\nexport NCCL_NVLS_ENABLE=1\n", "", "NT325"},
    {"shell", NULL, NDV4, "NCCL_MAX_CTAS=1\nsrun ./train\n", "NT609", "NT323"},
    {"shell", NULL, IB, "export NCCL_IB_GID_INDEX=3\n", "NT307", NULL},
    {"shell", NULL, ROCE_AMD, "export NCCL_IB_GID_INDEX=3\n", "NT307", NULL},
    {"shell", "2.19", NOWHERE, "export NCCL_IB_GID_INDEX=3\n", "", "NT307"},
    {"shell", NULL, NOWHERE, "export NCCL_IB_GID_INDEX=-1\n", "", "NT307"},
    {"shell", NULL, ROCE_AMD, "export NCCL_IB_GID_INDEX=3\nexport NCCL_IB_ADDR_FAMILY=AF_INET6\n", "NT307 NT308", NULL},
    {"shell", NULL, ROCE_AMD, "export NCCL_IB_ADDR_FAMILY=AF_INET6\nexport NCCL_IB_GID_INDEX=3\n", "NT308 NT307", NULL},
    {"shell", NULL, ROCE_AMD, "export NCCL_IB_GID_INDEX=-1\nexport NCCL_IB_ADDR_FAMILY=AF_INET6\n", "", "NT308"},
    {"shell", NULL, NOWHERE, "export NCCL_P2P_DISABLE=2\n", "NT309", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_P2P_DISABLE=1\n", "NT316", "NT309"},
    {"shell", NULL, NOWHERE, "export NCCL_P2P_DISABLE=0\n", "", "NT316"},
    {"shell", NULL, NOWHERE, "export NCCL_SHM_DISABLE=1\n", "NT317", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_SHM_DISABLE=0\n", "NT305", "NT317"},
    {"shell", NULL, NOWHERE, "export NCCL_NET_GDR_LEVEL=0\n", "NT205 NT318", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_NET_GDR_LEVEL=PIX\n", "", "NT318"},
    {"shell", NULL, NOWHERE, "export NCCL_DEBUG_FILE=/tmp/n.log\n", "NT319", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_DEBUG_FILE=/tmp/n.%h\n", "", "NT319"},
    {"shell", NULL, NOWHERE, "export CUDA_DEVICE_MAX_CONNECTIONS=64\n", "NT105 NT320", NULL},
    {"shell", NULL, NOWHERE, "export CUDA_DEVICE_MAX_CONNECTIONS=8\n./a --sequence-parallel\n", "NT105 NT320", NULL},
    {"shell", NULL, NOWHERE, "export CUDA_DEVICE_MAX_CONNECTIONS=1\n./a --sequence-parallel\n", "NT105", "NT320"},
    {"shell", NULL, NOWHERE, "export NCCL_IB_SPLIT_DATA_ON_QPS=1\n", "NT321", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_IB_SPLIT_DATA_ON_QPS=1 NCCL_IB_QPS_PER_CONNECTION=2\n", "", "NT321"},
    {"shell", NULL, NOWHERE, "export OFI_NCCL_PROTOCOL=tcp\n", "NT322", NULL},
    {"shell", NULL, NOWHERE, "export OFI_NCCL_PROTOCOL=rdma OFI_NCCL_DISABLE_DMABUF=True\n", "", "NT322"},
    {"shell", NULL, NOWHERE, "export TORCH_NCCL_ASYNC_ERROR_HANDLING=4\n", "NT322", NULL},
    {"shell", NULL, ROOT, "export NCCL_TOPO_FILE=/nowhere/topo.xml\n", "NT509", NULL},
    {"shell", NULL, ROOT, "export NCCL_TOPO_FILE=/proc/self/status\n", "", "NT509"},
    {"shell", NULL, NOWHERE, "export NCCL_TOPO_FILE=/nowhere/topo.xml\n", "", "NT509"},
    {"shell", NULL, NOWHERE, "export NCCL_IB_DISABLE=1\n", "NT310", NULL},
    {"shell", NULL, IB, "export NCCL_IB_DISABLE=1\n", "NT310", NULL},
    {"shell", NULL, IB, "export NCCL_IB_DISABLE=0\n", "NT305", "NT310"},
    {"shell", NULL, NOWHERE, "export NCCL_ALGO=Ring\n", "NT311", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_ALGO=\n", "", "NT311"},
    {"shell", NULL, NOWHERE, "export NCCL_DEBUG=info\n", "NT312", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_CHECK_MODE=DEBUG_GLOBAL\n", "NT312", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_DEBUG=VERSION\n", "", "NT312"},
    {"shell", NULL, NOWHERE, "export NCCL_GDR_FLUSH_DISABLE=1\n", "NT313", NULL},
    {"shell", NULL, ROCE_AMD, "export NCCL_GDR_FLUSH_DISABLE=1\n", "", "NT313"},
    {"shell", NULL, NOWHERE, "export NCCL_SOCKET_IFNAME=lo\n", "NT314", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_SOCKET_IFNAME=^lo,docker0\n", "", "NT314"},
    {"shell", NULL, IB, "export NCCL_SOCKET_NTHREADS=8\n", "NT315", NULL},
    {"shell", NULL, TCP, "export NCCL_SOCKET_NTHREADS=8\n", "", "NT315"},
    /* conflicts */
    {"shell", "2.28", NOWHERE, "export NCCL_TUNER_PLUGIN=nccltune\nexport NCCL_ALGO=Ring\n", "NT311 NT401", NULL},
    {"shell", "2.28", NOWHERE, "export NCCL_TUNER_PLUGIN=none\nexport NCCL_ALGO=Ring\n", "NT311", "NT401"},
    {"shell", NULL, NOWHERE, "export NCCL_P2P_DISABLE=1\nexport NCCL_P2P_LEVEL=NVL\n", "NT316 NT402", NULL},
    {"shell", NULL, NOWHERE, "if x; then export NCCL_P2P_DISABLE=1\nelse export NCCL_P2P_LEVEL=NVL\nfi\n", "NT316",
     "NT402"},
    {"shell", NULL, NOWHERE, "NCCL_P2P_DISABLE=1 ./a\nNCCL_P2P_LEVEL=NVL ./a\n", "NT316", "NT402"},
    {"shell", NULL, NOWHERE, "export NCCL_P2P_DISABLE=1\n./a\nunset NCCL_P2P_DISABLE\nexport NCCL_P2P_LEVEL=NVL\n",
     "NT316", "NT402"},
    {"shell", NULL, NOWHERE, "export NCCL_IB_DISABLE=1\nexport NCCL_IB_HCA==mlx5_0\n", "NT310 NT403", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_IB_HCA==mlx5_0\nexport NCCL_IB_DISABLE=1\n", "NT310 NT403", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_IB_DISABLE=0\nexport NCCL_IB_HCA==mlx5_0\n", "NT305", "NT403"},
    {"shell", NULL, NOWHERE, "export NCCL_MIN_CTAS=32 NCCL_MAX_CTAS=16\n", "NT404", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_MIN_CTAS=16 NCCL_MAX_CTAS=16\n", "", "NT404"},
    {"shell", NULL, NOWHERE, "export NCCL_MIN_NCHANNELS=8\nexport NCCL_MIN_NRINGS=8\n", "NT108 NT108 NT405", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_MAX_NCHANNELS=8\nexport NCCL_MIN_NRINGS=8\n", "NT108 NT108", "NT405"},
    {"shell", NULL, NOWHERE, "export NCCL_NET=IB\nexport NCCL_IB_DISABLE=1\n", "NT310 NT406", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_NET=Socket\nexport NCCL_IB_HCA==mlx5_0\n", "NT406", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_NET=IB\nexport NCCL_IB_HCA==mlx5_0\n", "", "NT406"},
    {"shell", NULL, NOWHERE, "export NCCL_IB_MERGE_NICS=0\nexport NCCL_NET_MERGE_LEVEL=SYS\n", "NT407", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_IB_MERGE_NICS=0\nexport NCCL_NET_MERGE_LEVEL=LOC\n", "", "NT407"},
    {"shell", NULL, NOWHERE, "export NCCL_CTA_POLICY=1\nexport NCCL_ALGO=Ring\n", "NT311 NT408", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_CTA_POLICY=2\nexport NCCL_ALGO=Ring\n", "NT311", "NT408"},
    {"shell", NULL, NOWHERE, "export NCCL_CTA_POLICY=1\nexport NCCL_TUNER_PLUGIN=nccltune\n", "NT408", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_CTA_POLICY=1\nexport NCCL_TUNER_PLUGIN=none\n", "", "NT408"},
    {"shell", NULL, NOWHERE, "export NCCL_IB_OOO_RQ=1\nexport NCCL_IB_AR_THRESHOLD=0\n", "NT409", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_IB_AR_THRESHOLD=0\n", "", "NT409"},
    {"shell", NULL, NOWHERE, "export NCCL_CUMEM_ENABLE=0\nexport NCCL_NVLS_ENABLE=1\n", "NT410", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_NVLS_ENABLE=0\nexport NCCL_ALGO=allreduce:nvls\n", "NT208 NT311 NT410", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_CUMEM_ENABLE=0\nexport NCCL_NVLS_ENABLE=0\n", "", "NT410"},
    {"shell", "2.30.7", NOWHERE, "export NCCL_NET_GDR_C2C=1\nexport NCCL_NET_GDR_LEVEL=PIX\n", "NT305 NT411", NULL},
    {"shell", "2.28.9", NOWHERE, "export NCCL_NET_GDR_C2C=1\nexport NCCL_NET_GDR_LEVEL=PIX\n", "NT305", "NT411"},
    {"shell", NULL, NOWHERE, "export NCCL_DEBUG=WARN\nexport NCCL_DEBUG_SUBSYS=NET\n", "NT412", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_DEBUG=INFO\nexport NCCL_DEBUG_SUBSYS=NET\n", "NT312", "NT412"},
    {"shell", "2.28", TABLED, "export NCCL_ALGO=Ring\n", "NT311 NT413", NULL},
    {"shell", "2.28", TABLED, "export NCCL_PROTO='allreduce:simple'\n", "NT311 NT413", NULL},
    {"shell", NULL, TABLED, "export NCCL_ALGO=RING\n", "NT311 NT413", NULL},
    {"shell", "2.28", NOWHERE, "export NCCL_ALGO=Ring\n", "NT311", "NT413"},
    {"shell", "2.28", TABLED, "export NCCL_ALGO=allgather:ring\n", "NT311", "NT413"},
    {"shell", "2.28", TABLED, "export NCCL_ALGO=broadcast:ring\n", "NT311", "NT413"},
    {"shell", "2.28", TABLED, "export NCCL_ALGO=reducescatter:ring\n", "NT311 NT413", NULL},
    {"shell", "2.28", TABLED, "export NCCL_PROTO=reducescatter:simple\n", "NT311", "NT413"},
    {"shell", "2.29", TABLED, "export NCCL_ALGO=allreduce:ring\n", "NT311", "NT413"},
    {"shell", "2.28", TABLED, "export NCCL_TUNER_PLUGIN=none\nexport NCCL_ALGO=Ring\n", "NT311", "NT413"},
    {"shell", "2.28", TABLED, "export NCCL_TUNER_PLUGIN=nccltune\nexport NCCL_ALGO=Ring\n", "NT311 NT401", "NT413"},
    {"shell", "2.28", TABLED, "export NCCL_ALGO=$CHOICE\n", "", "NT413"},
    {"shell", "2.28", TABLED, "export NCCL_TUNER_PLUGIN=ofi\n", "NT415", NULL},
    {"shell", "2.28", TABLED, "export NCCL_TUNER_PLUGIN=/opt/nccltune/libofi.so\n", "NT415", NULL},
    {"shell", "2.28", TABLED, "export NCCL_TUNER_PLUGIN=/opt/libnccl-tuner-nccltune.so\n", "", "NT415"},
    {"shell", "2.28", TABLED, "export NCCL_TUNER_PLUGIN=none\n", "", "NT415"},
    {"shell", "2.28", NOWHERE, "export NCCL_TUNER_PLUGIN=ofi\n", "", "NT415"},
    {"shell", NULL, NOWHERE, "export NCCL_TUNER_PLUGIN=ofi\nexport NCCLTUNE_PROFILE=/p\n", "NT415", NULL},
    {"shell", NULL, NOWHERE, "export NCCLTUNE_PROFILE=/p\nexport NCCL_TUNER_PLUGIN=none\n", "NT415", NULL},
    {"shell", NULL, NOWHERE, "export NCCLTUNE_PROFILE=/p\nexport NCCL_TUNER_PLUGIN=$T\n", "", "NT415"},
    {"shell", NULL, NOWHERE, "export NCCL_MNNVL_ENABLE=1\nexport NCCL_CUMEM_ENABLE=0\n", "NT414", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_MNNVL_ENABLE=0\nexport NCCL_CUMEM_ENABLE=0\n", "", "NT414"},
    {"shell", NULL, NOWHERE, "export NCCL_NET=FasTrak\nexport NCCL_NET_PLUGIN=none\n", "NT406", NULL},
    /* devices */
    {"shell", NULL, NOWHERE, "export NCCL_IB_HCA=mlx5_0,mlx5_1,mlx5_2,mlx5_3\n", "NT501", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_SOCKET_IFNAME=eth1\n", "NT501", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_IB_HCA=rocep1s0f0\n", "NT510", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_IB_HCA=rocep1s0f0,roceP2p1s0f0\n", "", "NT510"},
    {"shell", NULL, NOWHERE, "export NCCL_IB_HCA=roce\n", "", "NT510"},
    {"shell", NULL, IB, "export NCCL_IB_HCA=mlx5_1\n", "NT501 NT508", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_IB_HCA==mlx5_0,mlx5_1\n", "", "NT501"},
    {"shell", NULL, NOWHERE, "export NCCL_IB_HCA=mlx5\nexport NCCL_SOCKET_IFNAME=eth0\n", "", "NT501"},
    {"shell", NULL, IB, "export NCCL_IB_HCA=mlx5_2\n", "NT508", "NT501"},
    {"shell", NULL, IB, "export NCCL_IB_HCA==mlx5_0,mlx5_77\n", "NT502 NT508", NULL},
    {"shell", NULL, IB, "export NCCL_IB_HCA==mlx5_0:2\n", "NT502 NT504", NULL},
    {"shell", NULL, IB, "export NCCL_NET_FORCE_MERGE=mlx5_0,mlx5_99\n", "NT502", NULL},
    {"shell", NULL, IB, "export NCCL_IB_HCA==mlx5_0:1,mlx5_2\n", "NT508", "NT502"},
    {"shell", NULL, NAMELESS, "export NCCL_IB_HCA==mlx5_0,mlx5_77\n", "", "NT502"},
    {"shell", NULL, NAMELESS, "export NCCL_SOCKET_IFNAME==eth7\n", "", "NT505"},
    {"shell", NULL, NAMELESS, "export NCCL_IB_HCA=mlx5_1\n", "NT501", NULL},
    {"shell", NULL, NAMELESS, "export NCCL_IB_DISABLE=1\n", "NT310", NULL},
    {"shell", NULL, TCP, "export NCCL_IB_HCA==mlx5_0\n", "NT502", NULL},
    {"shell", NULL, IB, "export NCCL_IB_HCA==mlx5_0,mlx5_3\n", "NT503 NT508", NULL},
    {"shell", NULL, IB, "export NCCL_IB_HCA=^=mlx5_3\n", "", "NT503"},
    {"shell", NULL, IB, "export NCCL_IB_HCA=^mlx5\n", "NT504", NULL},
    {"shell", NULL, IB, "export NCCL_IB_HCA=^mlx5_2\n", "NT508", "NT504"},
    {"shell", NULL, PLUGIN, "export NCCL_IB_HCA=^cxi\n", "", "NT504"},
    {"shell", NULL, IB, "export NCCL_IB_HCA=^=mlx5_77\n", "", "NT502"},
    {"shell", NULL, IB, "export NCCL_IB_HCA==mlx5_0,mlx5_77,mlx5_78\n", "NT502 NT508", NULL},
    {"shell", NULL, IB, "export NCCL_SOCKET_IFNAME=^=lo,docker0\n", "", "NT505"},
    {"shell", NULL, IB, "export NCCL_SOCKET_IFNAME==eth0,ens9\n", "NT505", NULL},
    {"shell", NULL, IB, "export NCCL_SOCKET_IFNAME=wlan0\n", "NT505", NULL},
    {"shell", NULL, TCP, "export NCCL_SOCKET_IFNAME=^eth\n", "NT505", NULL},
    {"shell", NULL, TCP, "export NCCL_SOCKET_IFNAME==eth0\n", "", "NT505"},
    {"shell", NULL, IB, "export NCCL_SOCKET_IFNAME==eth0,eth2\n", "NT506", NULL},
    {"shell", NULL, IB, "export NCCL_SOCKET_IFNAME=^=eth2\n", "", "NT506"},
    {"shell", NULL, RAILS, "export NCCL_IB_HCA==mlx5_0,mlx5_1\n", "NT508", NULL},
    {"shell", NULL, RAILS, "export NCCL_IB_HCA=^=mlx5_0,mlx5_4\n", "NT508", NULL},
    {"shell", NULL, RAILS, "export NCCL_IB_HCA==mlx5_4\n", "NT508 NT511", NULL},
    {"shell", NULL, RAILS, "export NCCL_IB_HCA==mlx5_0,mlx5_1,mlx5_2,mlx5_3\n", "", "NT508 NT511"},
    {"shell", NULL, RAILS, "export NCCL_IB_HCA=mlx5\n", "NT511", "NT508"},
    {"shell", NULL, RAILS, "export NCCL_IB_HCA=^=mlx5_4\n", "", "NT508"},
    {"shell", NULL, RAILS, "export NCCL_IB_HCA=^=mlx5_5\n", "NT511", "NT508"},
    {"shell", NULL, RAILS, "export NCCL_IB_HCA==mlx5_9\n", "NT502 NT504", "NT508"},
    {"shell", NULL, IB, "export NCCL_IB_TC=106\n", "NT507", NULL},
    {"shell", NULL, ROCE_AMD, "export NCCL_IB_TC=106\n", "", "NT507"},
    /* forms */
    {"conf", NULL, NOWHERE, "export NCCL_CROSS_NIC=1\n", "NT601", NULL},
    {"conf", NULL, NOWHERE, "# export NCCL_CROSS_NIC=1\nNCCL_CROSS_NIC=1\n", "", "NT601"},
    {"conf", NULL, NOWHERE, "NCCL_CROSS_NIC = 1\n", "NT602", NULL},
    {"conf", NULL, NOWHERE, " NCCL_CROSS_NIC=1\n", "NT602", NULL},
    {"conf", NULL, NOWHERE, "NCCL_CROSS_NIC=1\n", "", "NT602"},
    {"conf", NULL, NOWHERE, "NCCL_CROSS_NIC=\"1\"\n", "NT218", NULL},
    {"conf", NULL, NOWHERE, "NCCL_CROSS_NIC=1 # rails\n", "NT603", NULL},
    {"conf", NULL, NOWHERE, "# rails\nNCCL_CROSS_NIC=1\n", "", "NT603"},
    {"conf", NULL, NOWHERE, "NCCL_CROSS_NIC=1\nNCCL_CROSS_NIC=0\n", "NT604", NULL},
    {"conf", NULL, NOWHERE, "NCCL_CROSS_NIC=1\nNCCL_CROSS_NIC=1\n", "", "NT604"},
    {"conf", NULL, NOWHERE, "NCCL_TOPO_FILE=$HOME/topo.xml\n", "NT606", NULL},
    {"conf", NULL, NOWHERE, "NCCL_TOPO_FILE=/etc/topo.xml\n", "", "NT606"},
    {"conf", NULL, NOWHERE, "NCCL_TOPO_FILE=~/topo.xml\n", "NT220", NULL},
    {"conf", NULL, NOWHERE, "NCCL_CONF_FILE=/etc/other.conf\n", "NT607", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_CONF_FILE=/etc/other.conf\n", "", "NT607"},
    {"conf", NULL, NOWHERE, "NCCL_CROSS_NIC=1\r\nNCCL_IB_SL=1\r\n", "NT608", NULL},
    {"conf", "2.30.7", NOWHERE, "NCCL_CROSS_NIC=1\r\n", "", "NT608"},
    {"shell", NULL, NOWHERE, "#!/bin/bash\nNCCL_CROSS_NIC=0\npython train.py\n", "NT609", NULL},
    {"shell", NULL, NOWHERE, "#!/bin/bash\nNCCL_CROSS_NIC=0\nexport NCCL_CROSS_NIC\n", "", "NT609"},
    {"shell", NULL, NOWHERE, "NCCL_CROSS_NIC=0\nmpirun -x NCCL_CROSS_NIC ./a\n", "", "NT609"},
    {"shell", NULL, NOWHERE, "set -a\nNCCL_CROSS_NIC=0\n", "", "NT609"},
    {"docker", NULL, NOWHERE, "FROM x\nRUN export NCCL_CROSS_NIC=1 && make\n", "NT610", NULL},
    {"docker", NULL, NOWHERE, "FROM x\nENV NCCL_CROSS_NIC=1 \\\n    NCCL_IB_SL=1\n", "", "NT610"},
    {"docker", NULL, NOWHERE, "FROM x\nRUN export NCCL_CROSS_NIC=1 && python -m test\n", "", "NT610"},
    {"docker", NULL, NOWHERE, "FROM x\nRUN export NCCL_TAG=v2 && git clone -b $NCCL_TAG u\n", "", "NT610"},
    {"docker", NULL, NOWHERE, "FROM x\nENV NCCL_CROSS_NIC 1 NCCL_IB_SL 1\n", "NT614", NULL},
    {"docker", NULL, NOWHERE, "FROM x\nENV NCCL_CROSS_NIC 1\n", "", "NT614"},
    {"docker", NULL, NOWHERE, "FROM x\nENV NCCL_CROSS_NIC=1 NCCL_IB_SL\n", "NT614", NULL},
    {"docker", NULL, NOWHERE, "FROM x\nARG NCCL_IB_SL=1\n", "NT610", NULL},
    {"docker", NULL, NOWHERE, "FROM x\nARG NCCL_IB_SL=1\nENV NCCL_IB_SL=$NCCL_IB_SL\n", "", "NT610"},
    {"docker", NULL, NOWHERE, "FROM x\nRUN export NCCL_ROOT=/usr && cmake .\n", "", "NT610"},
    {"shell", "2.30", NOWHERE, "export NCCL_ALGO=allreduce:tree;allgather:ring\n", "NT311 NT615", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_IB_HCA=mlx5; ls\n", "", "NT615"},
    {"python", NULL, NOWHERE, "os.environ['NCCL_CROSS_NIC'] = 1\n", "NT616", NULL},
    {"python", NULL, NOWHERE, "os.environ['NCCL_CROSS_NIC'] = '1'\nenv['NCCL_CROSS_NIC'] = 1\n", "", "NT616"},
    {"shell", "2.30", NOWHERE, "export NCCL_ALGO='allreduce:tree;allgather:ring'\n", "NT311", "NT615"},
    {"shell", "2.30", NOWHERE, "export NCCL_ALGO=allreduce:tree; ./a\n", "NT311", "NT615"},
    {"shell", NULL, NOWHERE, "set NCCL_IB_SL=1\n", "NT611", NULL},
    {"shell", NULL, NOWHERE, "set -- NCCL_IB_SL=1 ./a\n", "", "NT611"},
    {"shell", NULL, NOWHERE, "unset NCCL_IB_SL=1\n", "NT611", NULL},
    {"shell", NULL, NOWHERE, "export $NCCL_IB_SL=1\n", "NT611", NULL},
    {"csh", NULL, NOWHERE, "setenv NCCL_IB_SL=1\n", "NT611", NULL},
    {"csh", NULL, NOWHERE, "setenv NCCL_IB_SL 1\n", "", "NT611"},
    {"shell", NULL, NOWHERE, "(export NCCL_IB_SL=1)\n./a\n", "NT706", NULL},
    {"shell", NULL, NOWHERE, "(export NCCL_IB_SL=1; ./a)\n", "", "NT706"},
    {"shell", NULL, NOWHERE, "f() { export NCCL_IB_SL=1; }\nf\n./a\n", "", "NT706"},
    {"shell", NULL, NOWHERE, "case $x in a) export NCCL_IB_SL=1 ;; esac\n./a\n", "", "NT706"},
    {"shell", NULL, NOWHERE, "(case $x in a) export NCCL_IB_SL=1 ;; esac; ./a)\n", "", "NT706"},
    {"shell", NULL, NOWHERE, "((NCCL_IB_SL=1))\n./a\n", "", "NT706"},
    {"shell", NULL, NOWHERE, "export NCCL_IB_SL=1 | tee log\n", "NT706", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_IB_SL=1 || exit 1\n", "", "NT706"},
    {"shell", NULL, NOWHERE, "docker run -e NCCL_IB_SL:1 x\n", "NT613", NULL},
    {"shell", NULL, NOWHERE, "torchx run --env NCCL_IB_SL=1,NCCL_IB_TC=1\n", "", "NT202"},
    {"shell", NULL, NOWHERE, "mpirun -x NCCL_IB_TIMEOT ./a\n", "NT102", NULL},
    {"shell", NULL, NOWHERE, "mpirun -x NCCL_IB_TIMEOUT -x NCCL_HOME ./a\n", "", "NT102"},
    {"yaml", NULL, NOWHERE, "env:\n- NCCL_IB_SL = 1\n", "NT613", NULL},
    {"yaml", NULL, NOWHERE, "# {{ x }}\na: b: c\n- {name: NCCL_DEBUG_SUBSYS, value: \"INIT,NET\"}\n", "", "NT213"},
    {"yaml", NULL, NOWHERE, "# {{ x }}\na: b: c\n- {name: NCCL_IB_SL, value: \"20\"}\n", "NT301", NULL},
    {"conf", NULL, NOWHERE, "NCCL_IB_SL:1\n", "NT602", NULL},
    {"conf", NULL, NOWHERE, "NCCL_IB_SL=1\n", "", "NT602"},
    {"shell", NULL, NOWHERE, "export NCCL_IB_HCA=mlx5_[0-7]\n", "NT214", NULL},
    {"python", NULL, NOWHERE, "x = '-x NCCL_IB_HCA=[^ ]+'\n", "", "NT214"},
    {"shell", NULL, NOWHERE, "export NCCL_SOCKET_IFNAME==10.0.0.5\n", "NT215", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_SOCKET_IFNAME==eth0.100\n", "", "NT215"},
    {"shell", NULL, NOWHERE, "export NCCL_BUFFSIZE=-1\n", "NT301", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_NET=infiniband\n", "NT406", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_NET=IB\n", "", "NT406"},
    {"shell", "2.30", NOWHERE, "export NCCL_PROTO=LL\nexport NCCL_ALGO=allreduce:nvls\n", "NT311 NT209 NT311", NULL},
    {"shell", "2.30", NOWHERE, "export NCCL_PROTO=LL\nexport NCCL_ALGO=allreduce:nvls,ring\n", "NT311 NT311", "NT209"},
    {"shell", "2.30", NOWHERE, "export NCCL_GDRCOPY_FLUSH_ENABLE=1\n", "NT418", NULL},
    {"shell", "2.30", NOWHERE, "export NCCL_GDRCOPY_ENABLE=1\nexport NCCL_GDRCOPY_FLUSH_ENABLE=1\n", "", "NT418"},
    {"shell", "2.30", NOWHERE, "export NCCL_COLLNET_ENABLE=0\nexport NCCL_ALGO=Ring,CollNetDirect\n", "NT311 NT418",
     NULL},
    {"shell", "2.30", NOWHERE, "export NCCL_COLLNET_ENABLE=0\nexport NCCL_ALGO=^CollNetDirect\n", "NT311", "NT418"},
    {"shell", "2.30", NOWHERE, "export NCCL_NVLS_ENABLE=1\nexport NCCL_ALGO=Ring,Tree\n", "NT311 NT418", NULL},
    {"shell", "2.30", NOWHERE, "export NCCL_IB_ADDR_FAMILY=AF_INET6\nexport NCCL_IB_ADDR_RANGE=10.0.0.0/8\n", "NT418",
     NULL},
    {"shell", "2.30", NOWHERE, "export NCCL_IB_ADDR_FAMILY=AF_INET6\nexport NCCL_IB_ADDR_RANGE=fd00::/8\n", "",
     "NT418"},
    {"shell", NULL, NOWHERE, "export NCCL_CROSS_NIC = 1\n", "NT611", NULL},
    {"shell", NULL, NOWHERE, "NCCL_CROSS_NIC = 1\n", "NT611", NULL},
    {"shell", NULL, NOWHERE, "[ NCCL_CROSS_NIC = 1 ]\n", "", "NT611"},
    {"shell", NULL, NOWHERE, "srun --export=ALL,NCCL_IB_HCA==mlx5_0,mlx5_1 ./a\n", "NT612", NULL},
    {"shell", NULL, NOWHERE, "srun --export=\"ALL,NCCL_IB_HCA='=mlx5_0,mlx5_1'\" ./a\n", "", "NT612"},
    {"shell", NULL, NOWHERE, "srun --export=NCCL_IB_HCA==mlx5_0,PATH,NCCL_CROSS_NIC=1 ./a\n", "", "NT612"},
    {"shell", NULL, NOWHERE, "docker run --env NCCL_IB_HCA==mlx5_0,mlx5_1 image\n", "", "NT612"},
    {"shell", NULL, NOWHERE, "mpirun -x NCCL_CROSS_NIC 1 ./a\n", "NT613", NULL},
    {"shell", NULL, NOWHERE, "mpirun -x NCCL_CROSS_NIC ./a\n", "", "NT613"},
    /* the way to the ranks; more of it in tests/fixtures/lint/cases/launch.txt */
    {"shell", NULL, NOWHERE, "srun ./a\nexport NCCL_CROSS_NIC=1\n", "NT701", NULL},
    {"shell", NULL, NOWHERE, "srun ./a\nexport NCCL_CROSS_NIC=1\n./b\n", "", "NT701"},
    {"shell", NULL, NOWHERE, "export NCCL_IB_SL=1\nmpirun --hostfile h --bind-to none ./a\n", "NT702", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_IB_SL=1\nmpirun --hostfile h -x NCCL_IB_SL ./a\n", "", "NT702"},
    {"shell", NULL, NOWHERE, "export NCCL_IB_SL=1\nsrun --export=NONE ./a\n", "NT703", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_IB_SL=1\nsrun --export=ALL ./a\n", "", "NT703"},
    {"shell", NULL, NOWHERE, "export NCCL_IB_SL=1\nssh n python a.py\n", "NT704", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_IB_SL=1\nssh -o SendEnv=NCCL_IB_SL n python a.py\n", "", "NT704"},
    {"shell", NULL, NOWHERE, "export NCCL_IB_SL=1\nsudo python a.py\n", "NT705", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_IB_SL=1\nsudo -E python a.py\n", "", "NT705"},
    {"shell", NULL, NOWHERE, "bash -c 'export NCCL_IB_SL=1'\n", "NT706", NULL},
    {"shell", NULL, NOWHERE, "bash -c 'export NCCL_IB_SL=1; ./a'\n", "", "NT706"},
    {"shell", NULL, NOWHERE, "if [ $RANK -eq 0 ]; then\nexport NCCL_BUFFSIZE=1048576\nfi\n", "NT707", NULL},
    {"shell", NULL, NOWHERE, "if [ $LOCAL_RANK -eq 0 ]; then\nexport NCCL_BUFFSIZE=1048576\nfi\n", "", "NT707"},
    {"shell", NULL, NOWHERE, "export NCCL_IB_SL=1\nexport NCCL_IB_SL=2\n", "NT708", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_IB_SL=1\n./a\nexport NCCL_IB_SL=2\n", "", "NT708"},
    {"shell", NULL, NOWHERE, "export NCCL_IB_SL=1\n[ -n \"$A\" ] && export NCCL_IB_SL=2\n", "", "NT708"},
    {"shell", NULL, NOWHERE, "export NCCL_IB_SL=1\n[ -z \"$A\" ] || \\\n  export NCCL_IB_SL=2\n", "", "NT708"},
    {"shell", NULL, NOWHERE, "[ -n \"$A\" ] && export NCCL_IB_SL=1\nexport NCCL_IB_SL=2\n", "NT708", NULL},
    {"shell", NULL, NOWHERE, "helm install t ./c --set env.NCCL_IB_HCA={mlx5_0,mlx5_1}\n", "", "NT612"},
    {"shell", NULL, NOWHERE, "cat > w.sh <<X\nexport NCCL_IB_SL=1\nX\nsrun ./a\n", "NT709", NULL},
    {"shell", NULL, NOWHERE, "cat > w.sh <<X\nexport NCCL_IB_SL=1\nX\nsrun ./w.sh\n", "", "NT709"},
    /* readers */
    {"yaml", NULL, NOWHERE, "env:\n- name: NCCL_IB_TIMEOUT\n  value: \"40\"\n- {name: X, value: '1'}\n", "NT301", NULL},
    {"yaml", NULL, NOWHERE, "environment:\n  NCCL_IB_DISABLE: true\n", "NT201", NULL},
    {"yaml", NULL, NOWHERE, "environment:\n  - NCCL_BUFFSIZE=8M\n  - OTHER=1\n", "NT202", NULL},
    {"yaml", NULL, NOWHERE, "args:\n- |\n  export NCCL_IB_TIMEOUT=40\n  ./run\n", "NT301", NULL},
    {"yaml", NULL, NOWHERE, "a:\n  env: {NCCL_P2P_DISABLE: '1'}\nb:\n  env: {NCCL_P2P_LEVEL: NVL}\n", "NT316", "NT402"},
    {"json", NULL, NOWHERE, "{\"env\": {\"NCCL_IB_TIMEOUT\": 40}}", "NT301", NULL},
    {"json", NULL, NOWHERE, "{\"env\": [{\"name\": \"NCCL_BUFFSIZE\", \"value\": \"8M\"}]}", "NT202", NULL},
    {"json", NULL, NOWHERE, "{\"Env\": [\"NCCL_IB_DISABLE=true\", \"PATH=/bin\"]}", "NT201", NULL},
    {"docker", NULL, NOWHERE, "FROM x\nENV NCCL_IB_TIMEOUT 40\n", "NT301", NULL},
    {"docker", NULL, NOWHERE, "FROM x\nENV A=1 NCCL_IB_TIMEOUT=\"40\"\n", "NT301", NULL},
    {"env", NULL, NOWHERE, "NCCL_IB_TIMEOUT=40\n", "NT301", NULL},
    {"shell", NULL, NOWHERE, "mpirun -x NCCL_IB_TIMEOUT=40 ./a\n", "NT301", NULL},
    {"shell", NULL, NOWHERE, "srun --export=ALL,NCCL_IB_TIMEOUT=40,B=1 ./a\n", "NT301", NULL},
    {"shell", NULL, NOWHERE, "#!/bin/sh\n#SBATCH --export=ALL,NCCL_IB_TIMEOUT=40\n", "NT301", NULL},
    {"shell", NULL, NOWHERE, "mpiexec -genv NCCL_IB_TIMEOUT 40 ./a\n", "NT301", NULL},
    {"shell", NULL, NOWHERE, "apptainer run --env A=1,NCCL_IB_TIMEOUT=40 x.sif\n", "NT301", NULL},
    {"shell", NULL, NOWHERE, "srun env NCCL_IB_TIMEOUT=40 ./a\n", "NT301", NULL},
    {"shell", NULL, NOWHERE, "srun bash -c 'export NCCL_IB_TIMEOUT=40; ./a'\n", "NT301", NULL},
    {"shell", NULL, NOWHERE, "setenv NCCL_IB_TIMEOUT 40\n", "NT301", NULL},
    {"shell", NULL, NOWHERE, "cat > job.sh <<EOF\nexport NCCL_IB_TIMEOUT=40\nEOF\n", "NT301", NULL},
    {"shell", NULL, NOWHERE, "export NCCL_IB_TIMEOUT=${T:-40}\n", "NT301", NULL},
    {"shell", NULL, NOWHERE, "declare -x NCCL_IB_TIMEOUT=\"40\"\n", "NT301", NULL},
    {"shell", NULL, NOWHERE, "A=1 \\\n  NCCL_IB_TIMEOUT=40 \\\n  ./a --flag\n", "NT301", NULL},
    {"shell", NULL, NOWHERE, "x=$((1 << 2))\nexport NCCL_IB_TIMEOUT=40\n", "NT301", NULL},
    {"shell", NULL, NOWHERE, "# export NCCL_IB_TIMEOUT=40\n", "", "NT301"},
    {"shell", NULL, NOWHERE, "echo NCCL_IB_TIMEOUT=40\necho 'export NCCL_IB_TIMEOUT=40'\n", "", "NT301"},
    {"shell", NULL, NOWHERE, "export NCCL_IB_TIMEOUT=$(cat timeout)\n", "", "NT301"},
    /* what pods lack; more of it in tests/fixtures/lint/cases/containers.txt */
    {"yaml", NULL, NOWHERE,
     "kind: MPIJob\nspec:\n  containers:\n  - env: [{name: NCCL_IB_TIMEOUT, value: \"22\"}]\n"
     "    resources: {limits: {nvidia.com/gpu: 8}}\n",
     "NT801 NT803", NULL},
    {"yaml", NULL, NOWHERE,
     "kind: Pod\nspec:\n  containers:\n  - resources: {limits: {nvidia.com/gpu: 1, rdma/ib: 1}}\n", "NT802", NULL},
    {"yaml", NULL, NOWHERE,
     "kind: MPIJob\nspec:\n  containers:\n  - env: [{name: NCCL_IB_TIMEOUT, value: \"22\"}]\n"
     "    resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}\n"
     "    securityContext: {capabilities: {add: [IPC_LOCK]}}\n    volumeMounts: [{name: a, mountPath: "
     "/dev/shm}]\n",
     "", "NT801 NT802 NT803"},
};

/* ---- the places -------------------------------------------------------------------------------------------------- */

static void add_port(struct topo_class *c, int n, const char *hca, enum topo_link_layer layer, int down)
{
    c->ports[n] = (struct topo_port){
        .object = -1, .hca = hca, .port = 1, .state = down ? TOPO_STATE_DOWN : TOPO_STATE_ACTIVE, .layer = layer};
    c->nports = n + 1;
}

static void add_netdev(struct topo_class *c, int n, const char *name, int down)
{
    c->netdevs[n] =
        (struct topo_netdev){.object = -1, .name = name, .state = down ? TOPO_STATE_DOWN : TOPO_STATE_ACTIVE};
    c->nnetdevs = n + 1;
}

static struct topology *place_new(enum place p)
{
    static const char *const mlx5[] = {"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3", "mlx5_10", "mlx5_11"};
    static const char *const rails[] = {"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3", "mlx5_4", "mlx5_5"};
    if (p == NDV4)
        return machine_topology("azure-ndv4", 4, NULL);
    struct topology *t = topo_new();
    t->nclasses = 1;
    t->classes = ARENA_NEW(t->arena, struct topo_class);
    struct topo_class *c = t->classes;
    c->name = "class0";
    c->ports = arena_alloc(t->arena, 8 * sizeof(*c->ports));
    c->netdevs = arena_alloc(t->arena, 8 * sizeof(*c->netdevs));
    c->gpus = ARENA_NEW(t->arena, struct topo_gpu);
    c->ngpus = 1;
    c->objects = arena_alloc(t->arena, 2 * sizeof(*c->objects));
    c->objects[0] = (struct topo_object){.kind = TOPO_GPU, .parent = -1, .numa = -1};
    c->nobjects = 1;
    add_netdev(c, 0, "lo", 0);
    add_netdev(c, 1, "eth0", 0);
    if (p == IB) {
        for (int i = 0; i < 6; i++)
            add_port(c, i, mlx5[i], TOPO_LINK_INFINIBAND, i == 3);
        add_netdev(c, 2, "eth2", 1);
    } else if (p == RAILS) { /* four rails, a slow port for storage or management, one that is down */
        for (int i = 0; i < 6; i++) {
            add_port(c, i, rails[i], TOPO_LINK_INFINIBAND, i == 5);
            c->ports[i].rate_Gbps = i == 4 ? 25 : 400;
        }
    } else if (p == ROCE_AMD) {
        c->gpus->arch = "gfx942";
        add_port(c, 0, "bnxt_re0", TOPO_LINK_ETHERNET, 0);
        add_port(c, 1, "bnxt_re1", TOPO_LINK_ETHERNET, 0);
    } else if (p == PLUGIN) {
        add_port(c, 0, "cxi0", TOPO_LINK_UNKNOWN, 0);
    } else if (p == NAMELESS) { /* as in a topology XML that only has PCI addresses */
        c->objects[c->nobjects++] = (struct topo_object){.kind = TOPO_NIC, .parent = -1, .numa = -1};
        c->nnetdevs = 0;
    } else {
        c->netdevs[0].state = TOPO_STATE_DOWN; /* a machine whose only way out is eth0 */
    }
    return t;
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

/* AllReduce is decided by algorithm and protocol, ReduceScatter by algorithm, Broadcast has rules for channels alone,
 * AllGather none. */
static const char table_text[] = "# nccltune-tuner/1\n# nccl: 2.27,2.28\n"
                                 "allreduce,0,65535,tree,ll,-1,1,8\nreducescatter,0,65535,ring,-1,-1,1,8\n"
                                 "broadcast,0,-1,-1,-1,4,-1,-1\n";

static struct lint *run_case(const struct kase *k, const struct topology *t, const struct tuner_table *table,
                             char *codes, size_t size)
{
    struct lint_options o = {.rccl = -1,
                             .topology = t,
                             .predictor = &predict_predictor,
                             .table = k->place == TABLED ? table : NULL,
                             .root = k->place == ROOT ? "" : NULL};
    struct finding f;
    struct err e = {0};
    if (k->nccl)
        assert_int_equal(env_version_parse(k->nccl, &o.nccl_low, &o.nccl_high), 0);
    struct lint *l = lint_new(&o);
    assert_int_equal(lint_read_text(l, "case", k->text, strlen(k->text), k->kind, &e), 0);
    lint_check(l);
    codes[0] = '\0';
    for (size_t n = 0; lint_finding(l, n, &f); n++)
        snprintf(codes + strlen(codes), size - strlen(codes), "%s%s", n ? " " : "", f.id);
    return l;
}

#define NCASES (sizeof(cases) / sizeof(cases[0]))

TEST_CASE(every_case)
{
    int wrong = 0;
    struct tuner_table table;
    assert_int_equal(tuner_table_parse(&table, table_text, sizeof(table_text) - 1, NULL, NULL), 0);
    for (size_t i = 0; i < NCASES; i++) {
        char codes[512];
        int nowhere = cases[i].place == NOWHERE || cases[i].place >= TABLED;
        struct topology *t = nowhere ? NULL : place_new(cases[i].place);
        struct lint *l = run_case(&cases[i], t, &table, codes, sizeof(codes));
        if (strcmp(codes, cases[i].codes) != 0) {
            print_error("case %zu: expected '%s', found '%s':\n%s", i, cases[i].codes, codes, cases[i].text);
            lint_print(l, 0, stderr);
            wrong++;
        }
        lint_free(l);
        topo_free(t);
    }
    tuner_table_free(&table);
    assert_true(NCASES >= 120);
    assert_int_equal(wrong, 0);
}

/* Codes that only a case of their own can show. */
static int in_cases(const char *code, int near)
{
    for (size_t i = 0; i < NCASES; i++) {
        const char *where = near ? cases[i].near : cases[i].codes;
        if (where && strstr(where, code) && (!near || !strstr(cases[i].codes, code)))
            return 1;
    }
    return 0;
}

TEST_CASE(every_rule_fires_and_has_a_near_miss)
{
    int missing = 0, n;
    const struct finding_kind *kinds = lint_kinds(&n);
    for (int i = 0; i < n; i++)
        for (int near = 0; near < 2; near++)
            if (!in_cases(kinds[i].id, near) && strcmp(kinds[i].id, "NT605") != 0) { /* too long for a table: below */
                print_error("%s %s has no case%s\n", kinds[i].id, kinds[i].name, near ? " that comes near it" : "");
                missing++;
            }
    assert_true(n > 70);
    assert_int_equal(missing, 0);
}

TEST_CASE(long_line_is_cut)
{
    char text[1200] = "NCCL_TOPO_FILE=/", codes[64];
    for (int length = 1023; length <= 1024; length++) {
        memset(text + 16, 'a', (size_t)length - 1);
        memcpy(text + 15 + length, "\n", 2);
        struct lint *l =
            run_case(&(struct kase){"conf", NULL, NOWHERE, text, "", NULL}, NULL, NULL, codes, sizeof(codes));
        assert_string_equal(codes, length > 1023 ? "NT605" : "");
        lint_free(l);
    }
}

TEST_CASES(test_lint)
